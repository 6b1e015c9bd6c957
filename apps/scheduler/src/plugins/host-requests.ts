import type { HostMessage, PluginMessage } from '@acp/contract';
import { ServiceError } from '@acp/kernel';
import { ProtocolError } from '@acp/plugin-protocol';
import { callHostService, isHostService, type ServicePlace } from './host-services.ts';
import type { Logger } from '@acp/kernel';

interface HostRequestsSettings extends ServicePlace {
  logger: Logger;
  /** Reports a request for something that the plugin may not use. */
  denied: (message: string) => void;
  /** Reports a request that can't be answered. */
  malformed: (message: string) => void;
  answer(message: HostMessage): void;
}

type RequestId = Extract<HostMessage, { type: 'tool_result' }>['payload']['request_id'];

/** Maximum number of concurrent requests of one plugin; further ones are rejected immediately. */
const MOST_AT_ONCE = 16;
/** Requests per second, and the largest burst. */
const RATE = 50;
const BURST = 200;

/** Answers a plugin's requests to its host, within limits on their rate and number. */
export class HostRequests {
  readonly #set: HostRequestsSettings;
  #underWay = 0;
  #left = BURST;
  #at = performance.now();

  constructor(settings: HostRequestsSettings) {
    this.#set = settings;
  }

  take({ service, args, request_id }: Extract<PluginMessage, { type: 'host_request' }>['payload']): void {
    if (request_id === null)
      return this.#set.malformed(`a host_request for ${JSON.stringify(service)} has no request_id`);
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#at) / 1000) * RATE);
    this.#at = now;
    if (this.#left < 1 || this.#underWay >= MOST_AT_ONCE)
      return this.#answer(request_id, null, { code: 'rate_limited', message: 'too many requests' });
    this.#left -= 1;
    this.#underWay += 1;
    void this.#serve(service, args, request_id).finally(() => {
      this.#underWay -= 1;
    });
  }

  async #serve(service: string, args: unknown, request_id: RequestId): Promise<void> {
    const { denied, logger, plugin_id } = this.#set;
    try {
      this.#answer(request_id, await callHostService(this.#set, service, args), null);
    } catch (err) {
      if (!(err instanceof ServiceError)) {
        if (!this.#set.signal.aborted)
          logger.warn('a host service failed', { plugin_id, service, error: err });
        return this.#answer(request_id, null, { code: 'internal', message: 'the service failed' });
      }
      const refused = err.kind === 'forbidden';
      if (refused || !isHostService(service)) denied(`host service ${service}: ${err.message}`);
      this.#answer(request_id, null, { code: refused ? 'not_granted' : err.kind, message: err.message });
    }
  }

  #answer(request_id: RequestId, result: unknown, error: { code: string; message: string } | null): void {
    try {
      this.#set.answer({ type: 'tool_result', payload: { request_id, result, error } });
    } catch (err) {
      // It has ended or does not read: no one would receive the error.
      if (err instanceof ProtocolError)
        this.#answer(request_id, null, {
          code: 'too_large',
          message: 'the answer is too long for a message',
        });
    }
  }
}
