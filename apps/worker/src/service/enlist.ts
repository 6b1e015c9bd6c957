import { PROMPT_VERSION, type RegisterWorker, type SharedModel } from '@acp/contract';
import { type Logger, serviceVersion } from '@acp/kernel';
import { Backoff, pause } from './backoff.ts';
import { type ControlPlane, Refusal } from './control-plane.ts';
import type { Identity } from './identity.ts';
import type { Link } from './link.ts';

export interface Enlisted {
  worker_id: string;
  /** The operating contract for the worker's models. */
  operating_prompt: string;
}

export interface Enlisting {
  plane: ControlPlane;
  identity: Identity;
  link: Link;
  logger: Logger;
  name: string;
  tags: readonly string[];
  shared_models: readonly SharedModel[];
  /** Maximum delay between two attempts. */
  most_wait_ms: number;
}

/**
 * Registers or resumes the worker, retrying until it may work: it may have to wait for an admin's approval or for capacity in
 * the fleet. Undefined if it was stopped first or rejected.
 */
export async function enlist(settings: Enlisting, signal: AbortSignal): Promise<Enlisted | undefined> {
  const { plane, identity, link, logger, name, tags, shared_models } = settings;
  const backoff = new Backoff(settings.most_wait_ms);
  let waiting = false;
  const body: RegisterWorker = {
    name,
    tags: [...tags],
    ...serviceVersion(),
    prompt_version: PROMPT_VERSION,
    shared_models: [...shared_models],
  };
  while (!signal.aborted) {
    let asked: number | null = null;
    try {
      const answer = await plane.register(body, signal);
      const { worker_id, status, api_key, operating_prompt } = answer;
      if (api_key !== undefined) {
        await identity.keep(api_key);
        plane.useKey(api_key);
        logger.warn('the key was unknown: registered as a new worker and stored its key', {
          worker_id,
          name,
          folder: identity.folder,
        });
      }
      link.works();
      if (operating_prompt !== undefined) {
        const { tags: counting = [], prompt_version } = answer;
        logger.info('enlisted', { worker_id, status, tags: counting, prompt_version });
        return { worker_id, operating_prompt };
      }
      if (!waiting) logger.warn('waiting for the approval of an admin', { worker_id, name, status });
      waiting = true;
    } catch (err) {
      if (signal.aborted) return undefined;
      asked = link.fails(err);
      if (err instanceof Refusal && err.status === 401) return undefined;
    }
    await pause(backoff.next(asked), signal);
  }
  return undefined;
}
