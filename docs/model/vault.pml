/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vault.pml - vault, keeper, worker, two programs, and faults: every interleaving
 *
 * README.md says what is modelled, what is not, and which function each step stands for.
 *
 * One step of the model is one store to shared memory, one message, or one system call. Every
 * action is taken finitely often, so the graph has no cycle (`make model` proves that, too), and
 * "finally" means: in each state in which nobody can move. Monitor checks those.
 *
 * What can be chosen: KIND0, KIND1 (what the programs do), CRASHES, UPGRADE, LEAVE (a `stop --keep`
 * and a start), VAULT_DIES, and one of the mutations M_*, each of which is a mistake that the model must find.
 */

#ifndef KIND0
#define KIND0 EXITS
#endif
#ifndef KIND1
#define KIND1 CAT
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef UPGRADE
#define UPGRADE 1
#endif
#ifndef LEAVE
#define LEAVE 0
#endif
#ifndef VAULT_DIES
#define VAULT_DIES 0
#endif
#ifndef QUEUE
#define QUEUE 2 /* messages that the vault has not read yet */
#endif
#ifndef SLIP
#define SLIP 0
#endif
#ifndef PROGRAMS
#define PROGRAMS 2
#endif

#define ROWS PROGRAMS
#define PIDS 6 /* pids 1 to 6; the lowest free one is given out, so they are reused soon */

/* What a program does. */
#define EXITS 0 /* ends by itself at any time */
#define CAT   1 /* ends when its standard input does */
#define STAYS 2 /* never ends */

/* States of a row. */
#define FREE     0
#define STARTING 1
#define RUNNING  2
#define EXITED   3

/* Statuses. */
#define OWN    1 /* the program's own exit code */
#define KILLED 2
#define FAILED 3 /* execve failed */
#define LOST   4

/* Parents. */
#define BY_KEEPER 1
#define BY_VAULT  2
#define BY_INIT   3

/* Processes, and what a pid stands for: programs are 0 and 1. */
#define NONE   0
#define ALIVE  1
#define ZOMBIE 2
#define WORKER 2
#define UNBORN 3 /* a worker that has not looked yet whether its keeper lives */

/* Binaries. */
#define OLD 0
#define NEW 1

/* Messages keeper -> vault. */
#define PUT        1 /* row, program */
#define DROP       2 /* row: all keys */
#define DROP_STDIN 3 /* row */
#define REAP       4 /* pid */
#define TRIAL      5
#define WELL       6
#define PUT_EXE    7 /* binary */
#define KEEP       8 /* it leaves; the vault holds everything until a keeper is requested */
#define REFUSED    9 /* the upgrade did not happen */

/* Messages worker -> keeper and back; the second byte is the program, the third a status. */
#define READY     1
#define SPAWN     2
#define CLOSE     3
#define FORGET    4
#define SPAWNED   5
#define RAN       6 /* spawned and exited */
#define ENDED     7
#define NOT_SPAWNED 8
#define RETIRE    9

/* --- the kernel ---------------------------------------------------------------- */

byte p_state[PIDS + 1];
byte p_kind[PIDS + 1];
byte p_parent[PIDS + 1];
bit p_kill[PIDS + 1]; /* SIGKILL is pending */

bit sigchld;   /* pending at the vault */
bit over;      /* vault and keeper are both dead: the machine has nobody of ours left */

/* --- the ledger (shared memory) ------------------------------------------------- */

typedef row_t { byte state; byte child; byte who; byte status; bit own };
row_t row[ROWS];
byte l_worker; /* worker_pid; the worker stores it itself */
bit l_io = 1;   /* io_read and io_written are those of the last worker */

/* --- the vault ------------------------------------------------------------------ */

bit v_alive = 1;
bit v_kill;
byte v_out[ROWS]; /* program + 1 whose terminal (or stdout) and record it holds */
byte v_in[ROWS];  /* the same for standard input, which is closed alone */
byte v_told;
byte v_trial;     /* 0: no; 1: between V_TRIAL and V_WELL; 2: probation */
bit v_exe, v_good;
bit v_leaving;    /* a client wants the keeper to leave */
bit v_keep;       /* it has left in order */
bit v_hold;       /* nobody serves, by request */
bit v_gave_up;    /* has killed this keeper; what it says no longer counts */

chan k2v = [QUEUE] of { byte, byte, byte };
chan v2k = [1 + 2 * LEAVE] of { byte, byte }; /* a pid and its status; 0: LEAVE */
#ifdef M_SEND_LATER
chan later = [6] of { byte, byte, byte }; /* in the keeper's own memory */
#endif
bit put_flying[PROGRAMS]; /* a message with its descriptors is in the socket */

/* --- the keeper ------------------------------------------------------------------- */

byte k_state = NONE;
bit k_kill, k_hung;
bit k_bin;
bit k_executed; /* this image came by execve in place */
bit k_trial;    /* owes the vault a V_WELL */
bit k_ready;    /* its worker serves */
bit k_retiring;
bit k_leaving; /* not for another binary */
bit k_left;
byte k_worker;  /* its worker, or that of the keeper before while it is not known to be dead */
bit k_worker_own;
bit k_out[PROGRAMS], k_in[PROGRAMS];

/* --- the worker -------------------------------------------------------------------- */

bit w_alive;
byte w_pid;
bit w_serves;
byte w_knows[PROGRAMS]; /* 0: nothing; 1: runs; 2: exited */
byte w_status[PROGRAMS];
bit w_in[PROGRAMS];
chan w2k = [2] of { byte, byte };
chan k2w = [5] of { byte, byte, byte };
byte slip;     /* shared memory: 0: none; 3: this worker is in read(2) or write(2); 1: the last one was; 2: an earlier one */
bit input_end[PROGRAMS]; /* in the record: the client has closed the input */

/* --- programs, clients, faults ------------------------------------------------------ */

byte g_phase[PROGRAMS]; /* 0: none; 1: cloned; 2: executed; 3: dead */
byte g_pid[PROGRAMS];
byte g_truth[PROGRAMS]; /* the status it really ended with */
bit g_kid;              /* program 0 has forked, and its child is alive */
bit asked[PROGRAMS];
bit confirmed[PROGRAMS]; /* a client knows that it runs */
byte crashes = CRASHES;
bit upgrade_wanted = UPGRADE;
bit leave_wanted = LEAVE;
bit owed_hold; /* a client waits until nobody serves */
bit bad; /* the new binary has died or hung within its trial or probation */

#define KIND(i) ((i) == 0 -> KIND0 : KIND1)
#define FOREIGN(r) (!row[r].own)
#define OPEN(r) (row[r].state == STARTING || row[r].state == RUNNING)
#if PROGRAMS == 2
#define HELD_IN(i) (v_in[0] == (i) + 1 || v_in[1] == (i) + 1)
#define HELD_OUT(i) (v_out[0] == (i) + 1 || v_out[1] == (i) + 1)
#define HAS_ROW(i) ((row[0].state != FREE && row[0].who == i) || (row[1].state != FREE && row[1].who == i))
#define SOME_FREE (row[0].state == FREE || row[1].state == FREE)
#else
#define HELD_IN(i) (v_in[0] == (i) + 1)
#define HELD_OUT(i) (v_out[0] == (i) + 1)
#define HAS_ROW(i) (row[0].state != FREE && row[0].who == i)
#define SOME_FREE (row[0].state == FREE)
#endif
#define AT_EOF(i) (!k_in[i] && !w_in[i] && !HELD_IN(i) && !put_flying[i])

inline to_vault(t, a, b)
{
#ifdef M_SEND_LATER
    atomic {
        if
        :: v_alive && len(later) == 0 && len(k2v) < QUEUE -> k2v!t, a, b; if :: t == PUT -> put_flying[b] = 1 :: else fi
        :: v_alive && (len(later) > 0 || len(k2v) == QUEUE) -> later!t, a, b
        :: else
        fi
    }
#else
    atomic {
        (!v_alive || nfull(k2v));
        if
        :: v_alive -> k2v!t, a, b; if :: t == PUT -> put_flying[b] = 1 :: else fi
        :: else
        fi
    }
#endif
}

/* A worker that is dead or dying does not matter: the next one is given the table. */
inline to_worker(t, a, b)
{
    atomic {
        if
        :: k_worker != 0 && p_state[k_worker] == ALIVE && p_parent[k_worker] == BY_KEEPER ->
            assert(nfull(k2w)); k2w!t, a, b
        :: else
        fi
    }
}

/* One store to the row. The rest is the keeper's own memory, and history that no longer matters. */
inline row_free(r)
{
    d_step {
        k_in[row[r].who] = 0; k_out[row[r].who] = 0;
        row[r].state = FREE;
        if
        :: g_phase[row[r].who] == 3 -> g_truth[row[r].who] = 0; confirmed[row[r].who] = 0; input_end[row[r].who] = 0
        :: else
        fi;
        row[r].child = 0; row[r].who = 0; row[r].status = 0; row[r].own = 0
    }
}

/* A row in use has its descriptors in the vault, whenever the keeper dies. What a free row still has there
 * is dropped by the next keeper. */
inline free_and_drop(r)
{
#ifdef M_DROP_FIRST
    to_vault(DROP, r, 0);
    row_free(r)
#else
    row_free(r);
    to_vault(DROP, r, 0)
#endif
}

inline lowest_pid(p)
{
    p = 1;
    do :: p <= PIDS && p_state[p] != NONE -> p++ :: else -> break od;
    assert(p <= PIDS) /* a bound of the model, not of the protocol */
}

/* A pid may go back to the kernel only when nothing in the ledger stands for it any more. */
inline reap(p)
{
    d_step {
        assert(p_state[p] == ZOMBIE);
        assert(!(OPEN(0) && row[0].child == p && (v_alive || row[0].own)));
#if PROGRAMS == 2
        assert(!(OPEN(1) && row[1].child == p && (v_alive || row[1].own)));
#endif
        assert(l_worker != p || !v_alive);
        p_state[p] = NONE; p_kind[p] = 0; p_parent[p] = 0; p_kill[p] = 0
    }
}

/* In the kernel's exit path. */
inline die(p)
{
    p_state[p] = ZOMBIE; p_kill[p] = 0;
    if
    :: p_parent[p] == BY_VAULT -> sigchld = 1
    :: p_parent[p] == BY_INIT -> p_state[p] = NONE; p_kind[p] = 0; p_parent[p] = 0
    :: else
    fi
}

/* --- programs ------------------------------------------------------------------------ */

proctype Program(byte i)
{
end:
    do
    :: atomic { g_phase[i] == 1 && !p_kill[g_pid[i]] && !over -> g_phase[i] = 2 }
    :: atomic { g_phase[i] == 1 && !p_kill[g_pid[i]] && !over -> g_phase[i] = 3; g_truth[i] = FAILED; die(g_pid[i]); g_pid[i] = 0 }
    :: atomic { g_phase[i] == 2 && !p_kill[g_pid[i]] && !over && KIND(i) == EXITS ->
            g_phase[i] = 3; g_truth[i] = OWN; die(g_pid[i]); g_pid[i] = 0 }
    :: atomic { g_phase[i] == 2 && !p_kill[g_pid[i]] && !over && KIND(i) == CAT && AT_EOF(i) ->
            assert(input_end[i] || !confirmed[i]); /* an end that nobody asked for ends it because of us */
            g_phase[i] = 3; g_truth[i] = OWN; die(g_pid[i]); g_pid[i] = 0 }
    :: atomic { i == 0 && g_phase[0] == 2 && !p_kill[g_pid[0]] && !g_kid && row[0].state == STARTING && row[0].who == 0 && !over -> g_kid = 1 }
    :: atomic { (g_phase[i] == 1 || g_phase[i] == 2) && p_kill[g_pid[i]] && !over ->
            assert(!confirmed[i]); g_phase[i] = 3; die(g_pid[i]); g_pid[i] = 0 }
    od
}

/* --- worker --------------------------------------------------------------------------- */

/* What the worker has goes with it. */
inline worker_clear()
{
    do :: nempty(k2w) -> k2w?_, _, _ :: empty(k2w) -> break od;
    w_in[0] = 0; w_knows[0] = 0; w_status[0] = 0;
#if PROGRAMS == 2
    w_in[1] = 0; w_knows[1] = 0; w_status[1] = 0;
#endif
    slip = (slip == 3 -> 1 : (slip == 1 -> 2 : slip))
}

inline worker_dies()
{
    d_step {
        worker_clear();
        w_alive = 0; w_serves = 0;
        t = 0; i = 0; s = 0; did_io = 0;
        die(w_pid);
        w_pid = 0
    }
}

#define IS_UNBORN(p) (p_kind[p] == UNBORN && p_state[p] == ALIVE)

/* worker_run() up to the store of its pid: PDEATHSIG first, then getppid(2). */
#define UNBORN_OF(p) \
    :: d_step { IS_UNBORN(p) && p_parent[p] == BY_KEEPER && !p_kill[p] && !over -> \
        assert(!w_alive); p_kind[p] = WORKER; w_pid = p; w_alive = 1; l_io = 0; STORE_WORKER(p) } \
    :: d_step { IS_UNBORN(p) && p_parent[p] == BY_KEEPER && p_kill[p] && !over -> worker_clear(); die(p) } \
    :: d_step { IS_UNBORN(p) && p_parent[p] != BY_KEEPER && !over -> die(p) }

#ifdef M_WORKER_PID_LATE
#define STORE_WORKER(p) skip
#else
#define STORE_WORKER(p) l_worker = p
#endif

proctype Unborn()
{
end:
    do
    UNBORN_OF(1)
    UNBORN_OF(2)
    UNBORN_OF(3)
    UNBORN_OF(4)
    UNBORN_OF(5)
    UNBORN_OF(6)
    od
}

#define CHECK_STATUS(i, s) assert((s) == g_truth[i] || ((s) == LOST && !v_alive))

#define WORKER_OF(i) \
    :: atomic { !asked[i] && nfull(w2k) -> asked[i] = 1; w2k!SPAWN, i } \
    :: atomic { w_knows[i] == 1 && KIND(i) == CAT && !input_end[i] -> input_end[i] = 1 } \
    :: atomic { w_knows[i] != 0 && input_end[i] && w_in[i] -> w_in[i] = 0 }; w2k!CLOSE, i \
    :: atomic { w_knows[i] == 2 && nfull(w2k) -> CHECK_STATUS(i, w_status[i]); w_knows[i] = 0; w_status[i] = 0; w_in[i] = 0; w2k!FORGET, i }

proctype Worker()
{
    byte t, i, s;
    bit did_io;
end:
    do
    :: w_alive && !over ->
        {
            atomic {
            /* adopt: what the last worker's last call moved is known by its count alone */
#ifdef M_ONE_COUNT
            d_step { assert(slip != 2 || !v_alive); slip = 0 };
#else
            slip = 0;
#endif
            w2k!READY, 0;
            w_serves = 1;
            if :: w_knows[0] != 0 -> confirmed[0] = 1 :: else fi;
#if PROGRAMS == 2
            if :: w_knows[1] != 0 -> confirmed[1] = 1 :: else fi
#endif
            };
            do
            :: atomic { k2w?t, i, s ->
                if
                :: t == SPAWNED -> assert(w_knows[i] == 0); w_knows[i] = 1; w_in[i] = 1; confirmed[i] = 1
                :: t == RAN -> assert(w_knows[i] == 0); w_knows[i] = 2; w_status[i] = s; confirmed[i] = 1
                :: t == ENDED -> assert(w_knows[i] == 1); w_knows[i] = 2; w_status[i] = s
                :: t == NOT_SPAWNED -> assert(w_knows[i] == 0)
                :: t == RETIRE -> t = 0; i = 0; s = 0; goto leave
                fi;
                t = 0; i = 0; s = 0
              }
#if SLIP
            :: !did_io -> did_io = 1; slip = 3; slip = 0
#endif
            WORKER_OF(0)
#if PROGRAMS == 2
            WORKER_OF(1)
#endif
            od;
leave:
            skip
        } unless { w_alive && p_kill[w_pid] };
        worker_dies()
    od
}

/* --- keeper --------------------------------------------------------------------------- */

#define KNOWN_TREE(r) if :: row[r].who == 0 -> g_kid = 0 :: else fi

/* The whole tree, by the row's id and cgroup: the program may have been executed and have forked. */
inline kill_starting(r)
{
    d_step {
        if
        :: row[r].child != 0 ->
            assert(!v_alive || (p_state[row[r].child] != NONE && p_kind[row[r].child] == row[r].who));
            assert(!confirmed[row[r].who]);
            if
            :: p_state[row[r].child] == ALIVE && p_kind[row[r].child] == row[r].who -> p_kill[row[r].child] = 1
            :: else
            fi;
#ifndef M_KILL_LEADER
            if :: row[r].who == 0 -> g_kid = 0 :: else fi
#endif
        :: else
        fi
    };
    free_and_drop(r)
}

#ifdef M_ANY_PARENT
#define SAME_PARENT(r, mine) true
#define IS_WORKER(p, mine) (p == k_worker)
#else
#define SAME_PARENT(r, mine) (row[r].own == mine)
#define IS_WORKER(p, mine) (p == k_worker && k_worker_own == mine)
#endif

/* Own children and the vault's have pids of two worlds once the vault is dead. */
inline find_row(p, mine)
{
    r = 0;
    do :: r < ROWS && !(OPEN(r) && row[r].child == p && SAME_PARENT(r, mine)) -> r++ :: else -> break od
}

inline spawn(i)
{
    d_step {
        r = 0;
        do :: row[r].state != FREE -> r++ :: else -> break od;
        row[r].child = 0; row[r].who = i; row[r].own = 1; row[r].status = 0
    };
    row[r].state = STARTING;
    d_step { /* clone: the kernel stores the pid */
        lowest_pid(p);
        p_state[p] = ALIVE; p_kind[p] = i; p_parent[p] = BY_KEEPER;
        row[r].child = p; g_pid[i] = p; g_phase[i] = 1;
        k_in[i] = 1; k_out[i] = 1
    };
#ifndef M_RUNNING_BEFORE_PUT
    to_vault(PUT, r, i);
#endif
    d_step { t = 0; i = 0; r = 0; p = 0 }
}

/* Child r has been executed. */
inline spawned(r)
{
    d_step { row[r].state = RUNNING; KNOWN_TREE(r) };
    to_worker(SPAWNED, row[r].who, 0);
#ifdef M_RUNNING_BEFORE_PUT
    to_vault(PUT, r, row[r].who)
#endif
}

inline note_worker()
{
    l_io = 1;
    d_step { l_worker = 0; k_worker = 0; k_worker_own = 0 }
}

inline own_child_died(p)
{
    if
    :: IS_WORKER(p, 1) ->
#ifdef M_WORKER_REAPED_FIRST
        reap(p); note_worker();
#else
        note_worker(); reap(p);
#endif
        d_step { k_ready = 0; r = 0; p = 0 }
    :: !IS_WORKER(p, 1) && r == ROWS -> d_step { reap(p); r = 0; p = 0 }
    :: !IS_WORKER(p, 1) && r < ROWS && g_truth[row[r].who] == FAILED ->
        i = row[r].who;
        free_and_drop(r);
        reap(p);
        atomic { to_worker(NOT_SPAWNED, i, 0); r = 0; p = 0; i = 0 }
    :: else ->
        t = (row[r].state == STARTING -> RAN : ENDED);
#ifdef M_REAP_FIRST
        reap(p);
#endif
        d_step { i = row[r].who; row[r].status = g_truth[i]; row[r].state = EXITED; KNOWN_TREE(r) };
#ifndef M_REAP_FIRST
        reap(p);
#endif
        atomic { to_worker(t, i, row[r].status); r = 0; p = 0; i = 0; t = 0 }
    fi
}

/* EXITED(p) of the vault. */
inline vaults_child_died(p, s)
{
    if
    :: IS_WORKER(p, 0) -> note_worker(); atomic { to_vault(REAP, p, 0); r = 0; p = 0; s = 0 }
    :: !IS_WORKER(p, 0) && r == ROWS -> atomic { to_vault(REAP, p, 0); r = 0; p = 0; s = 0 }
    :: else ->
        d_step { assert(row[r].state == RUNNING); i = row[r].who; row[r].status = s; row[r].state = EXITED };
        to_vault(REAP, p, 0);
        atomic { to_worker(ENDED, i, s); r = 0; p = 0; i = 0; s = 0 }
    fi
}

/* The vault is dead, and so is a program that was its child. */
inline lost(r)
{
    d_step { row[r].status = LOST; row[r].state = EXITED };
    to_worker(ENDED, row[r].who, LOST)
}

inline start_worker()
{
    d_step { /* fork */
        p = 1;
        do
        :: p <= PIDS && !(p_state[p] == ALIVE && p_kind[p] == WORKER) -> p++
        :: else -> break
        od;
        assert(p > PIDS);                          /* exactly one worker at a time */
        assert(l_io || !v_alive);                  /* and the last one's I/O was noted */
        lowest_pid(p);
        p_state[p] = ALIVE; p_kind[p] = UNBORN; p_parent[p] = BY_KEEPER;
        k_worker = p; k_worker_own = 1;
        r = 0;
        do
        :: r < ROWS && row[r].state >= RUNNING ->
            i = row[r].who;
            w_knows[i] = (row[r].state == RUNNING -> 1 : 2);
            w_status[i] = row[r].status; w_in[i] = k_in[i]; r++
        :: r < ROWS && row[r].state < RUNNING -> r++
        :: else -> break
        od;
        r = 0; i = 0; k_ready = 0; p = 0
    };
#ifdef M_WORKER_PID_LATE
    l_worker = k_worker
#endif
}

#define ABANDON(r) \
    if \
    :: row[r].state == STARTING && g_phase[row[r].who] == 2 -> spawned(r) \
    :: row[r].state == STARTING && g_phase[row[r].who] != 2 -> kill_starting(r) \
    :: else \
    fi

/* What a keeper before has left. Descriptors came by inheritance (or by execve). */
inline adopt(r)
{
    if
    :: row[r].state == FREE ->
#ifndef M_KEEP_UNUSED
        d_step { /* what came by inheritance and belongs to no row */
            i = 0;
            do
            :: i < PROGRAMS && !HAS_ROW(i) -> k_in[i] = 0; k_out[i] = 0; i++
            :: i < PROGRAMS && HAS_ROW(i) -> i++
            :: else -> break
            od;
            i = 0
        };
        if :: v_out[r] != 0 || v_in[r] != 0 -> to_vault(DROP, r, 0) :: else fi
#else
        skip
#endif
    :: row[r].state == STARTING -> kill_starting(r)
    :: row[r].state == RUNNING ->
        assert(k_out[row[r].who] && (k_in[row[r].who] || input_end[row[r].who]))
    :: row[r].state == EXITED -> /* a worker can take it over only with its journal */
        assert(!v_alive || v_out[r] != 0 || put_flying[row[r].who])
    fi
}

#ifdef M_NO_PIDFD
#define PIDFDS 0
#else
#define PIDFDS 1
#endif

#define KEEPER_OF(r) \
        :: row[r].state == STARTING && g_phase[row[r].who] >= 2 && g_truth[row[r].who] != FAILED && \
           p_state[row[r].child] == ALIVE -> spawned(r) \
        :: PIDFDS && !v_alive && empty(v2k) && row[r].state == RUNNING && FOREIGN(r) && g_phase[row[r].who] == 3 -> lost(r)

#ifdef M_WORKER_EARLY
#define MAY_START_WORKER (k_worker == 0 || p_parent[k_worker] != BY_KEEPER)
#else
#define MAY_START_WORKER (k_worker == 0)
#endif

inline zombie_of(who, p)
{
    p = 1;
    do
    :: p <= PIDS && !(p_state[p] == ZOMBIE && p_parent[p] == who) -> p++
    :: else -> break
    od
}

#define IS_ZOMBIE(p, who) (p_state[p] == ZOMBIE && p_parent[p] == who)
#define ANY_ZOMBIE(who) (IS_ZOMBIE(1, who) || IS_ZOMBIE(2, who) || IS_ZOMBIE(3, who) || IS_ZOMBIE(4, who) || \
                         IS_ZOMBIE(5, who) || IS_ZOMBIE(6, who))

/* The kernel, when the keeper is dead. */
inline keeper_dies()
{
    d_step {
        k_in[0] = 0; k_out[0] = 0; row[0].own = 0;
        assert(!v_alive || !confirmed[0] || g_phase[0] != 2 || HELD_OUT(0) || put_flying[0]);
#if PROGRAMS == 2
        k_in[1] = 0; k_out[1] = 0; row[1].own = 0;
        assert(!v_alive || !confirmed[1] || g_phase[1] != 2 || HELD_OUT(1) || put_flying[1]);
#endif
        do :: nempty(w2k) -> w2k?_, _ :: empty(w2k) -> break od;
        do :: nempty(v2k) -> v2k?_, _ :: empty(v2k) -> break od;
#ifdef M_SEND_LATER
        do :: nempty(later) -> later?_, _, _ :: empty(later) -> break od;
#endif
        p = 1;
        do
        :: p <= PIDS && p_parent[p] == BY_KEEPER ->
            if
            :: v_alive -> p_parent[p] = BY_VAULT
            :: else -> p_parent[p] = BY_INIT
            fi;
            p++
        :: p <= PIDS && p_parent[p] != BY_KEEPER -> p++
        :: else -> break
        od;
        if :: w_alive -> p_kill[w_pid] = 1 :: else -> worker_clear() fi;
        k_worker = 0; k_worker_own = 0;
        if
        :: v_alive -> k_state = ZOMBIE; sigchld = 1
        :: else -> over = 1; k_state = NONE
        fi;
        k_kill = 0; k_hung = 0; k_executed = 0; k_trial = 0; k_ready = 0; k_retiring = 0;
        k_leaving = 0; k_left = 0;
        t = 0; i = 0; r = 0; p = 0; s = 0
    }
}

proctype Keeper()
{
    byte t, i, r, p, s;
end:
    do
    :: k_state == ALIVE && !over ->
        {
            skip;
image:      /* the first instruction of a binary, by the vault's fork or by its predecessor's execve */
            adopt(0);
#if PROGRAMS == 2
            adopt(1);
#endif
            if :: !k_executed -> k_worker = l_worker :: else fi;
turn:
            do
            :: atomic { w2k?t, i ->
                if
                :: t == READY -> k_ready = 1; t = 0
                :: t == SPAWN && (p_state[k_worker] != ALIVE || !SOME_FREE) -> t = 0; i = 0 /* last words; no room */
                :: t == CLOSE || t == FORGET ->
                    r = 0;
                    do :: r < ROWS && !(row[r].state >= RUNNING && row[r].who == i) -> r++ :: else -> break od;
                    assert(r < ROWS) /* a worker that names a row that is not there is killed */
                :: else
                fi;
                if :: t != 0 :: else -> goto turn fi };
                if
                :: t == SPAWN -> spawn(i)
                :: t == CLOSE ->
                    k_in[i] = 0;
#ifndef M_STDIN_STAYS
                    to_vault(DROP_STDIN, r, 0);
#endif
                    d_step { t = 0; i = 0; r = 0 }
                :: t == FORGET ->
                    assert(row[r].state == EXITED);
                    free_and_drop(r);
                    d_step { t = 0; i = 0; r = 0 }
                fi
#ifdef M_SEND_LATER
            :: atomic { nempty(later) && nfull(k2v) -> later?t, i, p; k2v!t, i, p; if :: t == PUT -> put_flying[p] = 1 :: else fi; t = 0; i = 0; p = 0 }
#endif
            :: atomic { v2k?p, s ->
                if
                :: p == 0 -> /* upgrade_leave() */
                    if
                    :: !k_retiring -> k_leaving = 1; k_retiring = 1; to_worker(RETIRE, 0, 0)
                    :: else
                    fi;
                    goto turn
                :: else -> find_row(p, 0)
                fi }; vaults_child_died(p, s)
            :: atomic { ANY_ZOMBIE(BY_KEEPER) -> zombie_of(BY_KEEPER, p); find_row(p, 1) }; own_child_died(p)
            KEEPER_OF(0)
#if PROGRAMS == 2
            KEEPER_OF(1)
#endif
            :: PIDFDS && !v_alive && empty(v2k) && k_worker != 0 && !k_worker_own && !w_alive -> note_worker()
            :: MAY_START_WORKER && empty(w2k) && !k_retiring ->
                ABANDON(0);
#if PROGRAMS == 2
                ABANDON(1);
#endif
                start_worker()
            :: k_ready && k_trial ->
                if :: k_executed -> to_vault(PUT_EXE, k_bin, 0) :: else fi;
                atomic { to_vault(WELL, 0, 0); k_trial = 0; k_executed = 0 }
            :: atomic { upgrade_wanted && k_ready && v_alive && !k_retiring -> upgrade_wanted = 0; k_retiring = 1 };
                to_worker(RETIRE, 0, 0)
            :: k_retiring && k_worker == 0 && empty(w2k) ->
                ABANDON(0);
#if PROGRAMS == 2
                ABANDON(1);
#endif
#if LEAVE
                if
                :: k_leaving && v_alive -> atomic { to_vault(KEEP, 0, 0); k_left = 1; break }
                :: k_leaving && !v_alive -> d_step { k_leaving = 0; k_retiring = 0 }; goto turn
                :: !k_leaving
                :: !k_leaving -> /* it fails before the vault hears of it, as for lack of memory */
                    k_retiring = 0;
                    to_vault(REFUSED, 0, 0);
                    goto turn
                fi;
#endif
                atomic { to_vault(TRIAL, 0, 0); k_trial = 1 };
                atomic { /* execve */
                    k_retiring = 0;
                    if
                    :: k_executed = 1; k_bin = NEW; goto image
                    :: skip /* it failed: the old image goes on and says that it is well */
                    fi
                }
            od
        } unless { k_kill || k_hung };
        if :: k_kill || k_left fi; /* a keeper that hangs waits for the vault's patience to end */
        keeper_dies()
    od
}

/* --- vault ----------------------------------------------------------------------------- */

/* A keeper that is about to execute another binary does not hear it. */
inline tell_leave()
{
    v_leaving = 1;
    if
    :: k_state == ALIVE -> assert(nfull(v2k)); v2k!0, 0
    :: else
    fi
}

#ifdef M_LEAVE_ONCE
#define LEAVE_AGAIN 0
#else
#define LEAVE_AGAIN (v_leaving && !v_gave_up)
#endif

#ifdef M_LEAVE_FORGOTTEN
#define HOLDS v_keep
#else
#define HOLDS (v_keep || v_leaving)
#endif

inline from_keeper()
{
    if
    :: t == PUT -> v_out[a] = b + 1; v_in[a] = b + 1; put_flying[b] = 0
    :: t == DROP -> v_out[a] = 0; v_in[a] = 0
    :: t == DROP_STDIN -> v_in[a] = 0
    :: t == REAP -> assert(v_told == a); reap(a); v_told = 0
    :: t == TRIAL ->
        v_trial = 1;
#ifdef M_TRIAL_PROMOTES
        v_good = NEW; v_exe = NEW
#endif
    :: t == PUT_EXE -> if :: !v_gave_up -> v_exe = a :: else fi
    :: t == WELL ->
        if :: !v_gave_up && v_trial == 1 -> v_trial = 2 :: else fi;
        if :: LEAVE_AGAIN -> tell_leave() :: else fi
    :: t == REFUSED ->
#ifndef M_LEAVE_REFUSED
        if :: LEAVE_AGAIN -> tell_leave() :: else fi
#else
        skip
#endif
    :: t == KEEP -> v_keep = 1
    fi;
    t = 0; a = 0; b = 0
}

inline peek()
{
    atomic {
        if
        :: v_told == 0 && k_state == ALIVE && ANY_ZOMBIE(BY_VAULT) ->
            zombie_of(BY_VAULT, p);
            v_told = p;
            v2k!p, (p_kind[p] >= WORKER -> KILLED : g_truth[p_kind[p]])
        :: else
        fi;
        p = 0
    }
}

inline vault_dies()
{
    d_step {
        v_alive = 0; v_kill = 0;
        do :: nempty(k2v) -> k2v?_, _, _ :: empty(k2v) -> break od;
        put_flying[0] = 0; v_out[0] = 0; v_in[0] = 0;
#if PROGRAMS == 2
        put_flying[1] = 0; v_out[1] = 0; v_in[1] = 0;
#endif
        p = 1;
        do
        :: p <= PIDS && p_parent[p] == BY_VAULT ->
            p_parent[p] = BY_INIT;
            if :: p_state[p] == ZOMBIE -> p_state[p] = NONE; p_kind[p] = 0; p_parent[p] = 0 :: else fi;
            p++
        :: p <= PIDS && p_parent[p] != BY_VAULT -> p++
        :: else -> break
        od;
        if :: k_state != ALIVE -> over = 1 :: else fi;
        v_leaving = 0; v_keep = 0; v_hold = 0; owed_hold = 0;
        v_told = 0; v_trial = 0; sigchld = 0; t = 0; a = 0; b = 0; p = 0
    }
}

proctype Vault()
{
    byte t, a, b, p;
    {
        goto start;
end:
        do
        :: over -> break
        :: atomic { k2v?t, a, b -> from_keeper(); peek() }
        :: atomic { sigchld -> sigchld = 0;
#ifdef M_PEEK_ANY
            /* waitid(P_ALL, WNOWAIT) shows the same zombie again and again, and never the keeper behind it */
            if :: k_state == ZOMBIE && !ANY_ZOMBIE(BY_VAULT) :: else -> peek(); goto end fi;
#else
            /* waitid(P_PID) */
            if :: k_state == ZOMBIE :: else -> peek(); goto end fi;
#endif
            /* What the dead keeper had sent counts. */
            do
            :: nempty(k2v) ->
                k2v?t, a, b;
#ifndef M_NO_DRAIN
                from_keeper()
#else
                if :: t == PUT -> put_flying[b] = 0 :: else fi
#endif
            :: empty(k2v) -> break
            od };
            d_step {
                k_state = NONE; v_told = 0;
                if
                :: v_keep && v_trial != 0 -> v_trial = 0; v_good = OLD; v_exe = OLD; bad = 0 /* a good one, as far as is known */
                :: v_keep && v_trial == 0
#ifdef M_EXE_STAYS
                :: !v_keep && v_trial == 2 -> v_exe = v_good; v_trial = 0
                :: !v_keep && v_trial == 1 -> v_trial = 0
#else
                :: !v_keep && v_trial != 0 -> v_exe = v_good; v_trial = 0
#endif
                :: else
                fi;
                assert(!(bad || v_gave_up) || v_exe == OLD);
                bad = 0; v_gave_up = 0;
                v_hold = HOLDS; v_keep = 0; v_leaving = 0
            };
            if
            :: v_hold -> d_step { owed_hold = 0 }; v_hold = 0 /* somebody starts it again */
            :: else
            fi;
start:
            atomic { /* fork: the keeper inherits all that is kept */
                k_bin = v_exe; k_state = ALIVE;
                if :: v_out[0] -> k_out[v_out[0] - 1] = 1 :: else fi;
                if :: v_in[0] -> k_in[v_in[0] - 1] = 1 :: else fi;
#if PROGRAMS == 2
                if :: v_out[1] -> k_out[v_out[1] - 1] = 1 :: else fi;
                if :: v_in[1] -> k_in[v_in[1] - 1] = 1 :: else fi;
#endif
                peek()
            }
#if LEAVE
        :: atomic { leave_wanted && k_state != NONE -> leave_wanted = 0; owed_hold = 1; tell_leave() }
#endif
        :: atomic { v_trial == 1 && !v_gave_up && k_state == ALIVE -> v_gave_up = 1; k_kill = 1 } /* its time is over, whether it hangs or works */
        :: atomic { v_trial == 2 && !bad && k_state == ALIVE -> /* the probation is over */
                v_trial = 0; v_good = v_exe;
                assert(k_bin == v_exe);
                v_good = OLD; v_exe = OLD; k_bin = OLD } /* from here on it is the old one */
        od
    } unless { v_kill };
    if :: v_kill -> vault_dies() :: else fi
}

/* --- faults and verdicts ------------------------------------------------------------------ */

#define NEW_IMAGE (!bad && !over && k_bin == NEW && k_state == ALIVE && !k_kill)

proctype Faults()
{
end:
    do
    :: atomic { crashes > 0 && k_state == ALIVE && !k_kill && !over -> crashes--; k_kill = 1 }
    :: atomic { crashes > 0 && w_alive && !p_kill[w_pid] && !over -> crashes--; p_kill[w_pid] = 1 }
#if VAULT_DIES
    :: atomic { crashes > 0 && v_alive && !v_kill && !over -> crashes--; v_kill = 1 }
#endif
    :: atomic { crashes > 0 && k_worker != 0 && IS_UNBORN(k_worker) && !p_kill[k_worker] && !over -> crashes--; p_kill[k_worker] = 1 }
    :: atomic { crashes > 0 -> crashes = 0 }
    :: atomic { upgrade_wanted -> upgrade_wanted = 0 }
    :: atomic { NEW_IMAGE && k_trial -> bad = 1; k_kill = 1 }
    :: atomic { NEW_IMAGE && k_trial && !k_hung -> bad = 1; k_hung = 1 }
    :: atomic { NEW_IMAGE && !k_trial && v_trial != 0 && !v_gave_up -> bad = 1; k_kill = 1 } /* it was well */
    od
}

inline verdict(i)
{
    if
    :: g_phase[i] == 1 || g_phase[i] == 2 -> /* alive: a row knows it, and it is one that nobody ends */
        r = 0;
        do :: r < ROWS && !(row[r].state == RUNNING && row[r].child == g_pid[i] && row[r].who == i) -> r++ :: else -> break od;
        assert(r < ROWS);
        assert(KIND(i) == STAYS && confirmed[i]);
        assert(w_knows[i] == 1);
        assert(!v_alive || (v_out[r] == i + 1))
    :: else ->
        assert(w_knows[i] == 0);
        assert(!HELD_IN(i) && !HELD_OUT(i) && !k_in[i] && !k_out[i] && !w_in[i])
    fi;
    assert(!g_kid) /* nor a child of a program that no row knows */
}

inline verdict_row(r)
{
    assert(row[r].state == FREE || row[r].state == RUNNING);
    assert(row[r].state != FREE || (v_out[r] == 0 && v_in[r] == 0))
}

proctype Monitor()
{
    byte r;
    timeout;
    d_step {
        if
        :: over
        :: else ->
            assert(k_state == ALIVE && !k_hung && w_alive && w_serves && k_ready); /* somebody serves */
            assert(empty(k2v) && empty(v2k) && empty(k2w) && empty(w2k));
            assert(!ANY_ZOMBIE(BY_KEEPER) && !ANY_ZOMBIE(BY_VAULT));
            verdict(0);
            verdict_row(0);
#if PROGRAMS == 2
            verdict(1);
            verdict_row(1);
#endif
            assert(!v_alive || (v_trial == 0 && !bad));
            assert(!v_alive || k_bin == v_exe);
            assert(!owed_hold && !leave_wanted || !v_alive)
        fi
    }
}

init
{
    atomic {
        run Program(0);
#if PROGRAMS == 2
        run Program(1);
#endif
        run Worker(); run Unborn(); run Keeper(); run Vault(); run Faults(); run Monitor()
    }
}
