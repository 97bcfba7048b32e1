/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jupyter.h - the terminals of a Jupyter server, for @jupyterlab/services and other clients
 *
 * Facts: docs/dialects/jupyter.md. A terminal is a process with a terminal; its name is its tag if
 * a client can use that as a name, else its id. Layer: dialects.
 */
#ifndef HF_DIALECTS_JUPYTER_JUPYTER_H
#define HF_DIALECTS_JUPYTER_JUPYTER_H

#include "base/json.h"
#include "dialects/common/dialect.h"

extern const struct dialect jupyter_dialect;

/* --- jupyter_socket.c ---------------------------------------------------------------------- */

enum jupyter_frame_kind { JUPYTER_FRAME_OTHER, JUPYTER_FRAME_STDIN, JUPYTER_FRAME_SIZE };
/* terminado's frames are arrays whose first element is the kind. */
struct jupyter_frame {
    enum jupyter_frame_kind kind;
    const char *text; /* of JUPYTER_FRAME_STDIN, borrowed from the tree; it may contain NUL */
    size_t len;
    int64_t rows, cols; /* of JUPYTER_FRAME_SIZE */
};
/* Unknown kinds and sizes without numbers are JUPYTER_FRAME_OTHER. bad_type: it is none. Pure. */
int jupyter_decode_frame(struct jupyter_frame *f, const json_t *tree, struct hf_error *err);

void jupyter_socket(struct http_request *rq);

/* --- jupyter.c ------------------------------------------------------------------------------ */

/* Can this be the name of a terminal? Pure. */
bool jupyter_name_is_valid(const char *name);
/* The terminal that the path names; `exited`: also if it has ended. NULL: replied. */
struct process *jupyter_find(struct http_request *rq, bool exited);

#endif
