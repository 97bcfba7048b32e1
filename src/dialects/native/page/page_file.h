/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.h - the browser page that is built into the binary. Layer: dialects.
 */
#ifndef HF_DIALECTS_NATIVE_PAGE_PAGE_FILE_H
#define HF_DIALECTS_NATIVE_PAGE_PAGE_FILE_H

#include "transport/http.h"

bool page_file_is_there(void);
/* Replies with the page, or with a short text if the binary was built without it. */
void page_file_send(struct http_request *rq, int status);

#endif
