import { type CheckedManifest, MAX_PLUGIN_MESSAGE_BYTES, type CheckedTool } from '@acp/contract';
import { encodeMessage } from '@acp/plugin-protocol';
import type { DrivenPlugin } from './driven.ts';
import type { Report } from './report.ts';
import { sampleOf, wrongInputs } from './samples.ts';

const CALL_MS = 30_000;

/** Calls each tool with an input generated from its schema, with invalid ones, and with the longest possible line. */
export async function tryTools(
  plugin: DrivenPlugin,
  { tools }: CheckedManifest,
  inputs: Readonly<Record<string, unknown>>,
  report: Report,
): Promise<void> {
  const calls = new Calls(plugin);
  for (const tool of tools) {
    const input = Object.hasOwn(inputs, tool.name) ? inputs[tool.name] : sampleOf(tool);
    if (input === undefined)
      report.note(`${tool.name}: no input could be made from its schema: --input ${tool.name}=file.json`);
    else await tryInput(calls, tool, input, report);
    await report.step(`${tool.name} outlives wrong input`, async () => {
      for (const wrong of wrongInputs(tool)) await calls.call(tool, wrong);
    });
  }
  await tryRest(calls, tools, report);
}

async function tryInput(calls: Calls, tool: CheckedTool, input: unknown, report: Report): Promise<void> {
  let failed: string | undefined;
  const ok = await report.step(`${tool.name} answers ${JSON.stringify(input).slice(0, 200)}`, async () => {
    const { error } = await calls.call(tool, input);
    if (error) failed = typeof error === 'string' ? error : error.message;
  });
  if (ok && failed !== undefined)
    report.note(`${tool.name} answered with the error: ${failed.slice(0, 500)}`);
}

async function tryRest(calls: Calls, tools: readonly CheckedTool[], report: Report): Promise<void> {
  const [tool] = tools;
  if (tool === undefined) return;
  await report.step(`it takes a line of ${MAX_PLUGIN_MESSAGE_BYTES} bytes`, async () => {
    const room = MAX_PLUGIN_MESSAGE_BYTES - encodeMessage(calls.message(tool, { padding: '' })).length;
    await calls.call(tool, { padding: 'x'.repeat(room) });
  });
  await report.step('it answers calls that come at once, each by its request_id', async () => {
    await Promise.all(Array.from({ length: 20 }, () => calls.call(tool, {})));
  });
  await report.step('it answers the call of a tool that it does not have with an error', async () => {
    const { error } = await calls.call({ name: 'no_such_tool', namespace: tool.namespace }, {});
    if (!error) throw new Error('there was none');
  });
  const double = calls.answeredTwice();
  if (double.length > 0)
    report.bad(`it answered ${double.length} calls more than once, or calls that nobody made`);
}

type Named = Pick<CheckedTool, 'name' | 'namespace'>;

class Calls {
  readonly #plugin: DrivenPlugin;
  #count = 0;

  constructor(plugin: DrivenPlugin) {
    this.#plugin = plugin;
  }

  /** Uses an id of fixed length. */
  message({ name, namespace }: Named, input: unknown) {
    const request_id = `call-${String(this.#count).padStart(6, '0')}`;
    return { type: 'invoke_tool' as const, payload: { tool: name, namespace, input, request_id } };
  }

  async call(tool: Named, input: unknown) {
    this.#count += 1;
    const message = this.message(tool, input);
    const { request_id } = message.payload;
    const answer = this.#plugin.next('tool_result', CALL_MS, (payload) => payload.request_id === request_id);
    this.#plugin.send(message);
    return answer;
  }

  answeredTwice(): unknown[] {
    return this.#plugin.unasked.filter(({ type }) => type === 'tool_result');
  }
}
