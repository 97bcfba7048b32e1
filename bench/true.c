/* SPDX-License-Identifier: Apache-2.0 */
/* true.c - linked statically: the least a spawned program can cost */
int main(void)
{
    return 0;
}
