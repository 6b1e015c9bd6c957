import type { Agent } from 'node:http';
import { httpAgentFactoryFromOptions } from '@opentelemetry/otlp-exporter-base/node-http';

/** Timeouts of an exchange that a connection lasts. */
const TIMEOUTS = 4;

/** Connections to a collector. Each ends after a while: the exporter's timeout is for silence, and one byte now and then is none. */
export function collectorAgent(timeout_ms: number): ReturnType<typeof httpAgentFactoryFromOptions> {
  const plain = httpAgentFactoryFromOptions({ keepAlive: true });
  return async (protocol) => {
    const agent: Agent = await plain(protocol);
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, done) => {
      const socket = connect(options, done);
      const end = setTimeout(() => socket?.destroy(), TIMEOUTS * timeout_ms).unref();
      socket?.once('close', () => clearTimeout(end));
      return socket;
    };
    return agent;
  };
}
