/** States of a worker (specification, Remote worker). */
export const workerStatuses = ['pending_approval', 'approved', 'rejected', 'disabled', 'draining'] as const;
export type WorkerStatus = (typeof workerStatuses)[number];
