// Jobs and awaited commands over pg-boss, which nothing else imports.
export { openQueue } from './queue.ts';
export type { CommandHandlers, Queue } from './queue.ts';
export { enqueue, enqueueMany } from './enqueue.ts';
export type { ConsumeOptions, JobHandler } from './consumer.ts';
export { callCommand } from './call-command.ts';
export type { CommandBodies } from './command-bodies.ts';
export { refuseLeased } from './refuse-leased.ts';
export { deleteOldCommands, LeaseLost } from './run-command.ts';
export type { CommandContext } from './run-command.ts';
export { migrateQueue } from './migrate-queue.ts';
export { queueCounts, readQueues } from './read-queues.ts';
export type { QueueCounts } from './read-queues.ts';
