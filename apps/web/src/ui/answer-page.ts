import { httpStatusOf, ServiceError } from '@acp/kernel';
import type { Response } from 'express';
import { span } from './kit/format.ts';
import { heedRefusal, say, t } from './kit/language.ts';

/** A field of a form or a query as typed; '' if absent. */
export const typed = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Runs the work; errors that the user can correct are rendered in a page, with their status. Anything else goes to the
 * error handler, which logs it.
 * @param noted receives upstream errors (`unavailable`, or an error with a cause) if the page reports those too
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
    response
      .status(httpStatusOf(error.kind))
      .type('html')
      .send(render(inFull(error)));
  }
}

function inFull(error: ServiceError): string {
  const refusal = heedRefusal(error);
  const { retry_after_sec: wait } = error;
  if (wait === undefined) return refusal;
  return `${say(refusal)}. ${t`Nothing was done. Try again in ${span(wait)}.`}`;
}
