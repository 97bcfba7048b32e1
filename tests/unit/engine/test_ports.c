/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ports.c - the kernel's table of sockets
 */
#include "engine/ports.h"

#include "test.h"

TEST(a_socket_that_listens_has_a_port_and_a_number)
{
    struct port_listener l = {0};

    EXPECT(ports_parse_line("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
                            "00000000     0        0 12345 1 0000000000000000 100 0 0 10 0",
                            &l));
    EXPECT_INT(l.port, 8080);
    EXPECT_U64(l.inode, 12345);
    EXPECT(
        ports_parse_line("  12: 00000000000000000000000001000000:01BB "
                         "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
                         "00000000     0        0 7 1 0",
                         &l));
    EXPECT_INT(l.port, 443);
    EXPECT_U64(l.inode, 7);
}

TEST(other_lines_say_nothing)
{
    struct port_listener l = {0};

    EXPECT(!ports_parse_line("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
                             "retrnsmt   uid  timeout inode",
                             &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1F90 0100007F:8000 01 00000000:00000000 00:00000000 "
                             "00000000     0        0 12345 1 0000000000000000",
                             &l));
    EXPECT(!ports_parse_line("   1: 0100007F:0 00000000:0000 0A 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1FFFF 00000000:0000 0A 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("   1: nothing 0 0A 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1F90 0 0A 0:0 0:0 0 0 0", &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1F90 0 0A 0:0 0:0 0 0 0 x", &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1F9G 0 0A 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("   1: 0100007F: 1F90 0A 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("   1: 0100007F:1F90 0 0A0 0:0 0:0 0 0 0 5", &l));
    EXPECT(!ports_parse_line("", &l));
}
