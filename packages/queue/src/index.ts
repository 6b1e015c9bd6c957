// Jobs and awaited commands over pg-boss, which nothing else imports.
export { openQueue } from './queue.ts';
export type { Queue, QueueOptions } from './queue.ts';
export { enqueue, enqueueMany } from './enqueue.ts';
export type { EnqueueOptions } from './enqueue.ts';
export type { ConsumeOptions, JobContext, JobHandler } from './consumer.ts';
export { callCommand } from './call-command.ts';
export type { CallCommandOptions } from './call-command.ts';
export { forgetCommands } from './serve-commands.ts';
export type { CommandContext, CommandHandler, ServeCommandsOptions } from './serve-commands.ts';
export { migrateQueue } from './migrate-queue.ts';
