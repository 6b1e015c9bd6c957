import { measureRequests } from './http-metrics.ts';
import { requestId } from './request-id.ts';

/** What every request begins with: a name, and the clock. */
export const beginRequest = [requestId, measureRequests];
