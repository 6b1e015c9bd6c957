import { httpStatusOf, ServiceError } from '@acp/kernel';
import type { Response } from 'express';

/** A field of a form, or of an address, as it was typed; '' where there is none. */
export const typed = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Runs the work; what the user can mend comes back in a page, with its status. Anything else goes to the error handler,
 * which logs it.
 * @param noted takes what went wrong elsewhere (`unavailable`, or an error with a cause) where the page tells that too
 */
export async function answerPage(
  response: Response,
  render: (error: string) => string,
  work: () => Promise<void>,
  noted?: (error: ServiceError) => void,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.kind === 'unavailable' && !noted) throw error;
    if (error.cause !== undefined) noted?.(error);
    if (error.retry_after_sec !== undefined) response.set('retry-after', String(error.retry_after_sec));
    response.status(httpStatusOf(error.kind)).type('html').send(render(error.message));
  }
}
