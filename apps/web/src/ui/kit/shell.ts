/** The frame of every page: where you are, where you can go, who you are. */
import type { UserActor } from '@acp/contract';
import { attributes, each, html, type Html, when } from './html.ts';

export interface NavItem {
  label: string;
  path: string;
}

export interface ShellOptions {
  title: string;
  user: UserActor;
  /** The company whose pages these are; null outside of one. */
  company: { id: string; name: string } | null;
  /** Path of the navigation's item that is current. */
  active?: string;
  /** Links from the outside in, ahead of the title. */
  trail?: readonly NavItem[];
  /** Buttons beside the title. */
  actions?: Html;
  /** Board and transcript use the whole width. */
  wide?: boolean;
  body: Html;
}

/** The company's sections. A slice with pages of its own adds its line here. */
export function companyNav(company_id: string): NavItem[] {
  const base = `/companies/${company_id}`;
  return [
    { label: 'Dashboard', path: base },
    { label: 'Board', path: `${base}/board` },
    { label: 'Agents', path: `${base}/agents` },
    { label: 'Runs', path: `${base}/runs` },
  ];
}

const adminNav: NavItem[] = [
  { label: 'Users', path: '/admin/users' },
  { label: 'Health', path: '/admin/health' },
];

export function shell(options: ShellOptions): Html {
  const { title, user, company, active, trail = [], actions = '', wide = false, body } = options;
  const items = company ? companyNav(company.id) : [];
  return documentPage(
    title,
    html`<a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <a class="brand" href="/companies">Control plane</a>
        !${when(company, ({ id, name }) => html`<a class="company" href="/companies/${id}">${name}</a>`)}
        <nav class="sections" aria-label="Company">!${each(items, (item) => navLink(item, active))}</nav>
        <div class="spacer"></div>
        <nav class="account" aria-label="Account">
          !${user.instance_role === 'admin' ? each(adminNav, (item) => navLink(item, active)) : ''}
          !${navLink({ label: user.name, path: '/profile' }, active)}
          <form method="post" action="/logout" class="inline"><button class="quiet">Sign out</button></form>
        </nav>
      </header>
      <main id="main" class="!${wide ? 'wide' : 'page'}">
        <div class="heading">
          <div>
            !${when(trail.length > 0 && trail, (links) => html`<p class="trail">!${each(links, trailLink)}</p>`)}
            <h1>${title}</h1>
          </div>
          <div class="actions">!${actions}</div>
        </div>
        !${body}
      </main>`,
    company?.id ?? null,
  );
}

const navLink = ({ label, path }: NavItem, active: string | undefined): Html =>
  html`<a href="${path}" !${attributes({ 'aria-current': path === active ? 'page' : null })}>${label}</a>`;

const trailLink = ({ label, path }: NavItem): Html =>
  html`<a href="${path}">${label}</a><span aria-hidden="true">/</span>`;

/** A whole document. `company_id` tells the script which company's live stream to read. */
export function documentPage(title: string, body: Html, company_id: string | null): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false}' />
        <title>${title} · Control plane</title>
        <link rel="stylesheet" href="/static/app.css" />
        <link rel="icon" href="data:," />
        <script src="/static/htmx.js" defer></script>
        <script src="/static/app.js" type="module"></script>
      </head>
      <body!${attributes({ 'data-company': company_id })}>
        !${body}
      </body>
    </html>`;
}
