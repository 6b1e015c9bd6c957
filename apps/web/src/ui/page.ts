import { assetPath } from './kit/assets.ts';
import { labelOf } from './kit/error-page.ts';
import { withLabel } from './kit/field-errors.ts';
import { attributes, html } from './kit/html.ts';
import { currentLanguage, say } from './kit/language.ts';

/** A whole page. `body` is HTML that is already escaped, `scripts` are names of our own scripts. */
export function page(title: string, body: string, scripts: readonly string[] = []): string {
  const loaded = scripts
    .map((name) => html`<script src="${assetPath(name)}" type="module"></script>`)
    .join('');
  return html`<!doctype html>
    <html lang="${currentLanguage()}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${say(title)}</title>
        <link rel="stylesheet" href="${assetPath('app.css')}" />
        <link rel="icon" href="data:," />
        !${loaded}
      </head>
      <body>
        !${body}
      </body>
    </html>`;
}

/** Names of all fields of these forms that a person fills in. */
const FIELDS = ['display_name', 'email', 'password', 'new_password', 'code'];

/** The error of a form, in the words of its fields; empty if there is none. */
export function errorLine(message: string | null): string {
  if (message === null) return '';
  const labels = new Map(FIELDS.map((name) => [name, labelOf(name)]));
  return html`<p class="error" role="alert">${say(withLabel(message, labels))}</p>`;
}

export interface Field {
  name: string;
  label: string;
  type: 'text' | 'email' | 'password' | 'hidden';
  autocomplete?: string;
  value?: string;
  minlength?: number;
  autofocus?: boolean;
}

export function field({
  name,
  label,
  type,
  autocomplete = 'off',
  value = '',
  minlength = 1,
  autofocus,
}: Field): string {
  if (type === 'hidden') return html`<input type="hidden" name="${name}" value="${value}" />`;
  return html`<label
    >${say(label)}
    <input
      type="${type}"
      name="${name}"
      value="${value}"
      autocomplete="${autocomplete}"
      minlength="${minlength}"
      required
      !${attributes({ autofocus })}
    />
  </label>`;
}

/** Fields of an account created through a link: by the first admin, or someone invited. The first empty one has the focus. */
export function accountFields({ display_name, email }: { display_name: string; email: string }): string {
  return [
    field({
      name: 'display_name',
      label: 'Name',
      type: 'text',
      autocomplete: 'name',
      value: display_name,
      autofocus: display_name === '',
    }),
    field({
      name: 'email',
      label: 'E-mail',
      type: 'email',
      autocomplete: 'username',
      value: email,
      autofocus: display_name !== '' && email === '',
    }),
    field({
      name: 'password',
      label: 'Password (8 characters or more)',
      type: 'password',
      autocomplete: 'new-password',
      minlength: 8,
      autofocus: display_name !== '' && email !== '',
    }),
  ].join('');
}
