/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_id.h - client ids, each bound to the grant that presented it
 *
 * A viewer may identify itself by a client id in order to resume after a disconnect. Clients choose
 * their ids, which are easy to guess. So the engine identifies a client by a key made of its id and
 * its principal (the token, cookie or link it authenticated with): the same id from another grant
 * is another client. The owner's key is the id itself, for compatibility with records of older
 * versions; all other keys begin with a byte that no id can contain.
 *
 * Other viewers see neither id nor key but a short digest, which is stable for a client while the
 * process exists and differs between processes. Pure. Layer: engine.
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
/* True if both keys belong to the same grant; false for the owner's keys. */
bool client_same_guest(const char *a, const char *b);
/* "c_" and 16 characters. out: CLIENT_SHOWN_BYTES. */
void client_shown(const char *process_id, const char *key, char *out);

#endif
