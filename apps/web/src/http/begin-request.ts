import { measureRequests } from './http-metrics.ts';
import { requestId } from './request-id.ts';
import { traceRequests } from './trace-requests.ts';

/** What every request begins with: a name, the clock, and its place in a trace. */
export const beginRequest = [requestId, measureRequests, traceRequests];
