import { isNestedDeeper, MAX_JSON_DEPTH } from '@acp/kernel';
import { ProtocolError } from '@acp/plugin-protocol';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { LineProcess, type Lines, type ProcessEnd } from '../plugins/line-process.ts';
import type { SandboxedCommand } from '../plugins/sandbox.ts';
import { ServerFault } from './bounded-fetch.ts';
import type { McpLink } from './mcp-link.ts';

/** Maximum length of one message, in bytes. */
const LONGEST_LINE = 4_000_000;

export type ProgramProcess = LineProcess<JSONRPCMessage, JSONRPCMessage>;

/**
 * A link to a program on this machine, started along with the link. It begins with `initialize`, which programs of either
 * era answer: not every program survives a request that it does not know.
 * @param onStart receives the process @param onEnd turns its end into a fault; null if the end was intended
 */
export async function programLink(
  command: SandboxedCommand,
  onStart: (process: ProgramProcess) => void,
  onEnd: (end: ProcessEnd) => ServerFault | null,
  fail: (fault: ServerFault) => void,
): Promise<McpLink> {
  const { parseJSONRPCMessage } = await import('@modelcontextprotocol/client');
  const lines: Lines<JSONRPCMessage, JSONRPCMessage> = {
    who: 'program',
    longest: LONGEST_LINE,
    encode: (message) => `${JSON.stringify(message)}\n`,
    read: (line) => {
      // Many programs print a greeting on standard output, where only messages belong.
      if (!line.startsWith('{')) return undefined;
      if (isNestedDeeper(line, MAX_JSON_DEPTH)) throw new ProtocolError('a message is nested too deeply');
      try {
        return parseJSONRPCMessage(JSON.parse(line));
      } catch (cause) {
        throw new ProtocolError('it wrote a line that is not a message', { cause });
      }
    },
  };
  let running: ProgramProcess | undefined;
  const transport: Transport = {
    async start() {
      running = new LineProcess(command, lines, {
        onMessage: (message) => transport.onmessage?.(message),
        onEnd: (end) => {
          const fault = onEnd(end);
          if (fault !== null) fail(fault);
          transport.onclose?.();
        },
      });
      onStart(running);
      return Promise.resolve();
    },
    async send(message) {
      if (running === undefined) throw new ServerFault('its program does not run');
      running.send(message);
      return Promise.resolve();
    },
    async close() {
      await running?.stop();
    },
  };
  return { transport, era: 'legacy' };
}
