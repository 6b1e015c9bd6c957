import type { UserActor } from '@acp/contract';
import { words } from './format.ts';
import type { FormValues } from './form-values.ts';
import { each, html, type Html, when } from './html.ts';
import { textarea } from './parts.ts';
import { shell } from './shell.ts';

const titles: Record<number, string> = {
  403: 'You may not do this',
  404: 'There is nothing here',
  409: 'That is not possible now',
  503: 'Not available at the moment',
};

/** A form that was not taken, so that it can be sent again. */
export interface Unsent {
  path: string;
  typed: FormValues;
  /** Names of fields that are not given back. */
  secrets: readonly string[];
}

/** What is missing and what is somebody else's look the same. */
export function errorPage(
  user: UserActor,
  status: number,
  message: string,
  unsent: Unsent | null = null,
): Html {
  return shell({
    title: titles[status] ?? (status >= 500 ? 'Something went wrong' : 'That did not work'),
    user,
    company: null,
    body: html`<p class="lead">${message}</p>
      !${when(unsent, resendForm)}
      <p><a href="/companies">Back to the companies</a></p>`,
  });
}

/** Nothing where nothing was typed. */
export function resendForm({ path, typed, secrets }: Unsent): Html {
  const names = typed.names.filter((name) => !secrets.includes(name));
  if (names.every((name) => typed.text(name).trim() === '')) return '';
  return html`<form class="card" method="post" action="${path}">
    <h2>What you sent</h2>
    !${each(names, (name) => textarea({ name, label: words(name), rows: 3, value: typed.text(name) }))}
    <button>Send again</button>
  </form>`;
}
