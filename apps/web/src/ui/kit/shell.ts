/** The frame of every page: location, navigation and user. */
import type { Logo, Preferences, UserActor } from '@acp/contract';
import { isInstanceAdmin, roleIn } from '../../http/roles.ts';
import { assetPath } from './assets.ts';
import { attributes, each, html, type Html, when } from './html.ts';
import { currentLanguage, t, unfolded } from './language.ts';
import { type Counts, companyNav, instanceNav, type NavGroup, type NavItem } from './navigation.ts';

export interface ShellOptions {
  title: string;
  user: UserActor;
  /** The company that the page belongs to; null outside of one. */
  company: { id: string; name: string; logo?: Logo | null } | null;
  /** Path of the current navigation item. */
  active?: string;
  /** Breadcrumb links ahead of the title, outermost first. */
  trail?: readonly NavItem[];
  /** Buttons next to the title. */
  actions?: Html;
  /** Numbers next to navigation entries. */
  counts?: Counts;
  /** The event after which the live stream begins: the company's, or the fleet's if an instance page sets it. */
  cursor?: number;
  /** Board and transcript use the full width. */
  wide?: boolean;
  body: Html;
}

export function shell(options: ShellOptions): Html {
  const { title, user, company, active, trail = [], actions = '', wide = false, body } = options;
  const groups = company ? companyNav(user, company.id, options.counts) : instanceNav(user);
  return documentPage(
    title,
    html`<a class="skip" href="#main">Skip to content</a>
      <header class="top">
        <a class="brand" href="/companies">Control plane</a>
        !${when(company, companyLink)}
        <nav class="account" aria-label="Account">
          !${when(company, findLink)}
          !${when(company, ({ id }) => navLink(inboxLink(id, options.counts), active))}
          <span class="own">
            !${when(company && isInstanceAdmin(user), () => navLink(instanceItem(), active))}
            !${navLink({ label: user.name, path: '/profile' }, active)}!${signOut()}
          </span>
        </nav>
      </header>
      <div class="frame">
        !${sideNav(groups, active, company ? { label: company.name, own: ownLinks(user) } : { label: t`Instance`, own: '' })}
        <main id="main" class="!${wide ? 'wide' : 'page'}">
          <div class="heading">
            <div>
              !${when(trail.length > 0 && trail, (links) => html`<p class="trail">!${each(links, trailLink)}</p>`)}
              <h1>${title}</h1>
            </div>
            <div class="actions">!${actions}</div>
          </div>
          !${body}
        </main>
      </div>`,
    streamOf(options),
    user,
  );
}

/**
 * Next to the content if there is room. On narrower screens the `details` ahead of it unfolds it: the style sheet reads
 * its state, so that one list serves both widths without script.
 */
function sideNav(
  groups: readonly NavGroup[],
  active: string | undefined,
  { label, own }: { label: string; own: Html },
): Html {
  const filled = groups.filter(({ items }) => items.length > 0);
  const current = filled.flatMap(({ items }) => items).find(({ path }) => path === active);
  return html`<div class="side">
    <details class="menu">
      <summary>Menu!${when(current, (item) => html` <span class="soft">${item.label}</span>`)}</summary>
    </details>
    <nav class="sections" aria-label="${label}">
      !${each(filled, (group) => navGroup(group, active))}!${own}
    </nav>
  </div>`;
}

const instanceItem = (): NavItem => ({ label: t`Instance`, path: '/admin/users' });

const signOut = (): Html =>
  html`<form method="post" action="/logout" class="inline">
    <button class="quiet small">Sign out</button>
  </form>`;

/** The links of the top bar for which a phone has no room: there the style sheet shows them in the menu. */
function ownLinks(user: UserActor): Html {
  const items = [
    { label: t`Companies`, path: '/companies' },
    ...(isInstanceAdmin(user) ? [instanceItem()] : []),
    { label: t`Profile`, path: '/profile' },
  ];
  return html`<div class="phone-only">
    !${navGroup({ label: user.name, items }, undefined)}!${signOut()}
  </div>`;
}

/** A folded group is open where the page is one of its own, and where somebody has left it open. */
function navGroup({ label, fold, items }: NavGroup, active: string | undefined): Html {
  const links = html`<ul>
    !${each(items, (item) => html`<li>!${navLink(item, active)}</li>`)}
  </ul>`;
  if (fold === undefined)
    return html`!${when(label, (text) => html`<p class="nav-label">${text}</p>`)} !${links}`;
  const open = items.some(({ path }) => path === active) || unfolded().includes(fold);
  return html`<details !${attributes({ 'data-section': fold, open })}>
    <summary class="nav-label">${label}</summary>
    !${links}
  </details>`;
}

function companyLink({ id, name, logo }: NonNullable<ShellOptions['company']>): Html {
  const image = ({ asset_id, theme }: Logo): Html =>
    html`<img src="/api/companies/${id}/logo/image?v=${asset_id ?? ''}" data-theme="${theme}" alt="" />`;
  return html`<a class="company" href="/companies/${id}">!${when(logo, image)}<span>${name}</span></a>`;
}

/** Opens the palette; without script it leads to the search page. */
const findLink = ({ id }: { id: string }): Html =>
  html`<a class="find" href="/companies/${id}/find" data-palette>Find <kbd>Ctrl K</kbd></a>`;

const navLink = ({ label, path, count }: NavItem, active: string | undefined): Html =>
  html`<a href="${path}" !${attributes({ 'aria-current': path === active ? 'page' : null })}
    >${label}!${when(count, (number) => html` !${counter(number)}`)}</a
  >`;

/** What is counted changes with nearly everything: the number is refreshed at most every few seconds. */
function counter({ value, topic, source }: NonNullable<NavItem['count']>): Html {
  const live = attributes({ 'data-live': topic, 'data-pace': 5000, 'data-source': source });
  return html`<span class="count" !${live}>${value || ''}</span>`;
}

/** Any issue's change may affect the inbox. */
function inboxLink(id: string, counts: Counts = {}): NavItem {
  const path = `/companies/${id}/inbox`;
  const topic = 'issues approvals budget_incident join_request inbox_changed';
  const count = { value: counts.inbox ?? 0, topic, source: `${path}/part/waiting` };
  return { label: t`Inbox`, path, count };
}

const trailLink = ({ label, path }: NavItem): Html =>
  html`<a href="${path}">${label}</a><span aria-hidden="true">/</span>`;

/** Outside of a company only for pages with a cursor: others have no parts that refresh themselves. */
function streamOf({ user, company, cursor }: ShellOptions): Stream | null {
  if (company)
    return { id: company.id, cursor: cursor ?? 0, reads_only: roleIn(user, company.id) === 'viewer' };
  return cursor === undefined ? null : { id: 'instance', cursor, reads_only: false };
}

interface Stream {
  /** A company's id, or `instance`. */
  id: string;
  cursor: number;
  /** The user is a viewer: keys and the palette offer nothing that writes. */
  reads_only: boolean;
}

/**
 * A whole document. `stream` names the company whose live stream the script reads, and the event to start after; the
 * user's preferences are for the style sheet, the time zone for the script that formats times, and the id for what
 * scripts keep for one person.
 */
export function documentPage(
  title: string,
  body: Html,
  stream: Stream | null,
  user: UserActor | null = null,
): Html {
  const { theme, density, time_zone }: Preferences = user?.preferences ?? {};
  return html`<!doctype html>
    <html lang="${currentLanguage()}"!${attributes({ 'data-scheme': theme, 'data-density': density, 'data-zone': time_zone })}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false,"noSwap":[204,304,"4xx","5xx"]}' />
        <title>${title} · Control plane</title>
        <link rel="stylesheet" href="${assetPath('app.css')}" />
        <link rel="icon" href="data:," />
        <script src="${assetPath('htmx.js')}" defer></script>
        <script src="${assetPath('app.js')}" type="module"></script>
      </head>
      <body!${attributes({ 'data-company': stream?.id, 'data-cursor': stream?.cursor, 'data-user': user?.user_id, 'data-reads-only': stream?.reads_only === true ? '' : undefined })}>
        !${body}
      </body>
    </html>`;
}
