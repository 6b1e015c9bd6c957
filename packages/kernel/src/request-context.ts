import { AsyncLocalStorage } from 'node:async_hooks';

/** What follows a request or a job through its asynchronous calls, so that every log line of it can be found. */
export interface RequestContext {
  request_id: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();
