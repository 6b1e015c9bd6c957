import { type ServiceError, unavailable } from '@acp/kernel';

/** When callers should try again: a store that is down rarely returns sooner. */
const RETRY_AFTER_SEC = 5;

/** The store can't be reached, does not respond or is full. */
export const storeUnavailable = (cause?: unknown): ServiceError =>
  unavailable('storage unavailable', cause, RETRY_AFTER_SEC);
