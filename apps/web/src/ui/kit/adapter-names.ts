/** What adapters are called on pages: a plain name beside the id that the API and the operator's variables use. */
import type { Choice } from './parts.ts';
import { t, texts } from './language.ts';

const names: Readonly<Record<string, string>> = texts({
  llm: 'calls of a model',
  cli_a_local: 'Claude Code, on the scheduler’s machine',
  cli_b_local: 'Codex, on the scheduler’s machine',
  cli_a_sandbox: 'Claude Code, in a container',
  cli_b_sandbox: 'Codex, in a container',
  docker: 'a container',
  lambda: 'a cloud function',
  remote: 'a remote worker',
});

export const adapterName = (type: string): string => (names[type] ? t`${names[type]} (${type})` : type);

export const adapterChoices = (types: readonly string[]): Choice[] =>
  types.map((value) => ({ value, label: adapterName(value) }));
