import type { UserActor } from '@acp/contract';
import { READ_ONLY } from '@acp/core';
import type { Refusal } from '../../http/errors.ts';
import { AS_SHOWN } from './as-shown.ts';
import { span, words } from './format.ts';
import type { ErrorPlace } from './error-place.ts';
import type { FormValues } from './form-values.ts';
import { each, html, type Html, when } from './html.ts';
import { say, t, texts } from './language.ts';
import { input, textarea } from './parts.ts';
import { shell } from './shell.ts';

const titles: Record<number, string> = texts({
  403: 'You may not do this',
  404: 'There is nothing here',
  409: 'That is not possible now',
  413: 'That was too large',
  429: 'Too many requests',
  503: 'Not available at the moment',
  500: 'Something went wrong',
  400: 'That did not work',
});

/** A rejected form, so that it can be sent again. */
export interface Unsent {
  /** With its query, which may be part of what was asked for. */
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
  refusal: Refusal,
  place: ErrorPlace | null,
  unsent: Unsent | null = null,
): Html {
  return shell({
    title: refusalTitle(refusal.status),
    user,
    ...(place ?? { company: null }),
    body: html`!${refusalBody(refusal, unsent)}
      <p>
        !${place === null ? html`<a href="/companies">Back to the companies</a>` : waysOn(place.company.id)}
      </p>`,
  });
}

export const refusalTitle = (status: number): string => titles[status] ?? titles[status >= 500 ? 500 : 400]!;

/** What was refused, what the reader can do about it, and what was typed. */
export const refusalBody = (refusal: Refusal, unsent: Unsent | null): Html =>
  html`<p class="lead" role="alert">${say(refusal.message)}</p>
    !${when(wayOut(refusal), (way) => html`<p>${way}</p>`)} !${when(unsent, resendForm)}`;

function wayOut({ status, message, retry_after_sec }: Refusal): string | undefined {
  if (retry_after_sec !== undefined) return t`Nothing was done. Try again in ${span(retry_after_sec)}.`;
  // No role helps.
  return message === READ_ONLY ? undefined : ways[status];
}

const waysOn = (id: string): Html =>
  html`<a href="/companies/${id}">Dashboard</a> · <a href="/companies/${id}/inbox">Inbox</a> ·
    <a href="/companies/${id}/find">Find something</a>`;

/** Empty if nothing was typed. Secrets have to be typed again. */
export function resendForm({ path, typed, secrets }: Unsent): Html {
  const names = typed.names.filter((name) => !secrets.includes(name));
  if (names.every((name) => typed.text(name).trim() === '')) return '';
  const given = secrets.filter((name) => typed.text(name) !== '');
  const digests = typed.shown && JSON.stringify(Object.fromEntries(typed.shown));
  return html`<form class="card" method="post" action="${path}">
    <h2>What you sent</h2>
    !${when(digests, (text) => html`<input type="hidden" name="${AS_SHOWN}" value="${text}" />`)}
    !${each(names, (name) => resent(name, typed))}!${each(given, (name) => askedAgain(name, typed))}
    <button>Send again</button>
  </form>`;
}

/** Of fields that are refused before their page is known: single lines, and texts. */
const lines: Record<string, string> = texts({
  email: 'E-mail',
  password: 'Password',
  new_password: 'New password',
  display_name: 'Name',
  code: 'Code',
});
const longer: Record<string, string> = texts({
  name: 'Name',
  title: 'Title',
  body_markdown: 'Text',
  content: 'Text',
  description: 'Description',
  note: 'Note',
});
/** What a field is called whose page is not known. */
export const labelOf = (name: string): string => lines[name] ?? longer[name] ?? words(name);

/** Ids and instants: the form's own constants. */
const NOT_TYPED = /^(?:[\da-f]{8}-[\da-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;

/** Whether somebody may have typed the value. */
export const isTyped = (value: string): boolean => !NOT_TYPED.test(value);

/** Hidden in the forms for people without a session. */
const HIDDEN: readonly string[] = ['next', 'token', 'accept'];

/** Ticked boxes, and what nobody typed, are sent again as they are. */
function resent(name: string, typed: FormValues): Html {
  const values = typed.all(name).filter((value) => value !== '');
  if (HIDDEN.includes(name) || values.length > 1 || !isTyped(values[0] ?? ''))
    return each(values, (value) => html`<input type="hidden" name="${name}" value="${value}" />`);
  const field = { name, label: labelOf(name), value: typed.text(name) };
  return name in lines ? input(field) : textarea({ ...field, rows: 3 });
}

/** An input would join the lines of a private key. */
function askedAgain(name: string, typed: FormValues): Html {
  const field = { name, label: labelOf(name), secret: true };
  return typed.text(name).includes('\n') ? textarea(field) : input({ ...field, type: 'password' });
}
