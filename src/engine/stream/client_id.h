/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_id.h - what a client id is worth: it belongs to the grant that brought it
 *
 * A viewer may name itself by a client id, to go on after a cut. Ids are chosen by clients
 * and easily guessed, so inside of the engine a client is known by a key made of its id and
 * its principal (the token, cookie or link that it came with): the same id brought by
 * another grant is another client. The owner's key is the id itself, as records of older
 * versions have it; all other keys begin with a byte that no id can hold.
 *
 * Others are shown neither: they see a short digest, the same for a client as long as the
 * process is there, and another for each process. Pure. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_CLIENT_ID_H
#define HF_ENGINE_STREAM_CLIENT_ID_H

#include <stdbool.h>
#include <stddef.h>

#define CLIENT_KEY_BYTES 64
#define CLIENT_SHOWN_BYTES 24

/* principal NULL: the owner. out: CLIENT_KEY_BYTES. */
void client_key(const char *principal, const char *id, char *out);
bool client_is_owners(const char *key);
/* Keys of clients that the same grant brought; false for the owner's. */
bool client_same_guest(const char *a, const char *b);
/* "c_" and 16 characters. out: CLIENT_SHOWN_BYTES. */
void client_shown(const char *process_id, const char *key, char *out);

#endif
