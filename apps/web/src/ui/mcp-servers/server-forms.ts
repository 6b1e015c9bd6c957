import type { McpCommandOffer, McpServer, McpServerTool } from '@acp/contract';
import { FieldErrors } from '../kit/field-errors.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { formError, input, select, textarea } from '../kit/parts.ts';

const fields = ['name', 'url', 'headers', 'command', 'env', 'timeout_seconds', 'refresh_interval_seconds'];

/** `Name: value`, one per line. */
const lines = (texts: Record<string, string>, between: string): string =>
  Object.entries(texts)
    .map(([name, value]) => `${name}${between}${value}`)
    .join('\n');

/** Contents of a form: the stored server, and the rejected input. */
interface ServerForm {
  path: string;
  server: McpServer | null;
  error: string | null;
  form: FormValues | null;
}

/** Form for a new or an existing server reached by HTTP. */
export const serverForm = (about: ServerForm): Html =>
  formOf(about, t`New server`, '', ({ value, errors, server }) => [
    input({
      name: 'url',
      label: 'URL',
      type: 'url',
      required: true,
      value: value('url', server?.url),
      hint: 'Streamable HTTP',
      error: errors.of('url'),
    }),
    textarea({
      name: 'headers',
      label: 'Headers',
      items: ':',
      mono: true,
      rows: 3,
      value: value('headers', lines(server?.headers ?? {}, ': ')),
      hint: 'One per line, each value with a company secret: Authorization: Bearer ${secret:TRACKER_TOKEN}',
      error: errors.of('headers'),
    }),
  ]);

/** The same for a program that the operator offers; empty if there is none. */
export function programForm(about: ServerForm, offers: readonly McpCommandOffer[]): Html {
  if (offers.length === 0 && about.server === null) return html``;
  const choices = offers.map(({ name, description }) => ({
    value: name,
    label: description === null ? name : `${name}: ${description}`,
  }));
  const variables = [...new Set(offers.flatMap(({ env }) => env))];
  return formOf(about, t`New program`, 'program-', ({ value, errors, server }) => [
    select({
      name: 'command',
      label: 'Program',
      choices,
      value: value('command', server?.command),
      error: errors.of('command'),
    }),
    textarea({
      name: 'env',
      label: 'Variables',
      items: '=',
      mono: true,
      rows: 3,
      value: value('env', lines(server?.env ?? {}, '=')),
      hint:
        variables.length === 0
          ? 'It takes none.'
          : `A line each, NAME=value; secrets as \${secret:NAME}. There are: ${variables.join(', ')}`,
      error: errors.of('env'),
    }),
  ]);
}

interface Filled {
  value: (name: string, known: string | number | null | undefined) => string;
  errors: FieldErrors;
  server: McpServer | null;
}

function formOf(
  { path, server, error, form }: ServerForm,
  title: string,
  prefix: string,
  place: (filled: Filled) => readonly [short: Html, long: Html],
): Html {
  const errors = new FieldErrors(error, fields);
  const value: Filled['value'] = (name, known) => form?.sent(name) ?? String(known ?? '');
  const [short, long] = place({ value, errors, server });
  return html`<form class="card" method="post" action="${path}">
    <h2>${server ? t`Server` : title}</h2>
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'name', id: `${prefix}name`, label: 'Name', required: true, value: value('name', server?.name), hint: 'Its tools are called name__tool: small letters, digits, hyphens', error: errors.of('name') })}
      !${short}
    </div>
    !${long}
    <div class="row">
      !${input({ name: 'timeout_seconds', id: `${prefix}timeout_seconds`, label: 'Seconds for a call', type: 'number', min: 1, value: value('timeout_seconds', server?.timeout_seconds ?? 30), error: errors.of('timeout_seconds') })}
      !${input({ name: 'refresh_interval_seconds', id: `${prefix}refresh_interval_seconds`, label: 'Seconds between listings', type: 'number', min: 60, value: value('refresh_interval_seconds', server?.refresh_interval_seconds ?? 900), error: errors.of('refresh_interval_seconds') })}
    </div>
    <button>${server ? t`Save` : t`Add`}</button>
  </form>`;
}

/** Result of trying a tool. */
export interface TriedTool {
  tool: string;
  input: string;
  answer: string | null;
  error: string | null;
}

/** Makes one manual call of an allowed tool. */
export function tryForm({ id }: McpServer, tools: readonly McpServerTool[], tried: TriedTool | null): Html {
  const choices = tools.filter(({ allowed }) => allowed).map(({ name }) => ({ value: name, label: name }));
  if (choices.length === 0 && tried === null) return html``;
  return html`<form class="card" method="post" action="/mcp-servers/${id}/try">
    <h2>Try a tool</h2>
    <p class="soft">This is a real call, as an agent would make it, with all its effects.</p>
    !${formError(tried?.error ?? null)}
    <div class="row">
      !${select({ name: 'tool', id: 'try-tool', label: 'Tool', choices, value: tried?.tool ?? '' })}
      !${textarea({ name: 'input', label: 'Input', mono: true, rows: 2, value: tried?.input ?? '{}', hint: 'A JSON object' })}
    </div>
    <button>Call</button>
    !${when(
      tried?.answer,
      (text) =>
        html`<h3>Answer</h3>
          <pre class="copy" tabindex="0" aria-label="Answer">${text}</pre>`,
    )}
  </form>`;
}
