import { cutText, storableText } from '@acp/kernel';

/**
 * What went wrong with a model call, in the terms that decide what happens next: `quota` pauses the
 * provider until `reset_at`, where known, `transient` may be tried again, the rest ends the run.
 */
export type AdapterErrorCategory =
  'auth' | 'quota' | 'transient' | 'permanent' | 'config' | 'timeout' | 'cancelled';

export interface AdapterErrorDetails {
  /** When the quota is there again. */
  reset_at?: Date;
  /** What the provider asked to wait. */
  retry_after_sec?: number;
  /** The HTTP status, where one led to this. */
  status?: number;
}

/** In bytes. */
const LONGEST_MESSAGE = 8000;

/** Carries no cause: the model library's errors hold whole prompts and answers. Messages never hold a secret. */
export class AdapterError extends Error {
  readonly category: AdapterErrorCategory;
  readonly reset_at?: Date;
  readonly retry_after_sec?: number;
  readonly status?: number;

  constructor(category: AdapterErrorCategory, message: string, details: AdapterErrorDetails = {}) {
    super(cutText(storableText(message), LONGEST_MESSAGE));
    this.name = 'AdapterError';
    this.category = category;
    // A made-up wait may lead to a date that there is not.
    if (!Number.isNaN(details.reset_at?.getTime())) this.reset_at = details.reset_at;
    this.retry_after_sec = details.retry_after_sec;
    this.status = details.status;
  }
}
