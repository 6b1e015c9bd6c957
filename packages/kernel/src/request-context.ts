import { AsyncLocalStorage } from 'node:async_hooks';

/** Follows a request or job through its asynchronous calls, so that all of its log lines can be found. */
interface RequestContext {
  request_id: string;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();
