import type { UserActor } from '@acp/contract';
import { AS_SHOWN } from './as-shown.ts';
import { words } from './format.ts';
import type { ErrorPlace } from './error-place.ts';
import type { FormValues } from './form-values.ts';
import { each, html, type Html, when } from './html.ts';
import { say, texts } from './language.ts';
import { textarea } from './parts.ts';
import { shell } from './shell.ts';

const titles: Record<number, string> = texts({
  403: 'You may not do this',
  404: 'There is nothing here',
  409: 'That is not possible now',
  503: 'Not available at the moment',
  500: 'Something went wrong',
  400: 'That did not work',
});

/** A rejected form, so that it can be sent again. */
export interface Unsent {
  path: string;
  typed: FormValues;
  /** Names of fields that are not refilled. */
  secrets: readonly string[];
}

/** What the reader can do about it. */
const ways: Record<number, string> = texts({
  403: 'Someone with a higher role can do it: the company’s admins assign roles.',
  404: 'It may have been deleted, or belong to a company that you are not in.',
  409: 'Something has changed in the meantime: go back, check, and try again.',
  503: 'Something the service depends on is unavailable. Trying again in a moment usually helps.',
});

/** Missing and inaccessible subjects look the same. @param place the company in whose frame the page is shown */
export function errorPage(
  user: UserActor,
  { status, message }: { status: number; message: string },
  place: ErrorPlace | null,
  unsent: Unsent | null = null,
): Html {
  return shell({
    title: titles[status] ?? titles[status >= 500 ? 500 : 400]!,
    user,
    ...(place ?? { company: null }),
    body: html`<p class="lead" role="alert">${say(message)}</p>
      !${when(ways[status], (way) => html`<p>${way}</p>`)} !${when(unsent, resendForm)}
      <p>
        !${place === null ? html`<a href="/companies">Back to the companies</a>` : waysOn(place.company.id)}
      </p>`,
  });
}

const waysOn = (id: string): Html =>
  html`<a href="/companies/${id}">Dashboard</a> · <a href="/companies/${id}/inbox">Inbox</a> ·
    <a href="/companies/${id}/find">Find something</a>`;

/** Empty if nothing was typed. */
export function resendForm({ path, typed, secrets }: Unsent): Html {
  const names = typed.names.filter((name) => !secrets.includes(name));
  if (names.every((name) => typed.text(name).trim() === '')) return '';
  const digests = typed.shown && JSON.stringify(Object.fromEntries(typed.shown));
  return html`<form class="card" method="post" action="${path}">
    <h2>What you sent</h2>
    !${when(digests, (text) => html`<input type="hidden" name="${AS_SHOWN}" value="${text}" />`)}
    !${each(names, (name) => resent(name, typed))}
    <button>Send again</button>
  </form>`;
}

/** Ticked boxes are sent again as they are. */
function resent(name: string, typed: FormValues): Html {
  const values = typed.all(name).filter((value) => value !== '');
  if (values.length < 2) return textarea({ name, label: words(name), rows: 3, value: typed.text(name) });
  return each(values, (value) => html`<input type="hidden" name="${name}" value="${value}" />`);
}
