import type { Company } from '@acp/contract';
import { html } from 'ghtml';
import { page } from './page.ts';

export function companiesPage(user_name: string, companies: readonly Company[]): string {
  const rows = companies.map(
    (company) =>
      html`<li>
        <strong>${company.name}</strong> <span class="soft">${company.slug} · ${company.id}</span>
      </li>`,
  );
  const list =
    rows.length === 0
      ? html`<p class="soft">
          No company yet. An instance admin creates one with <code>POST /api/companies</code>.
        </p>`
      : html`<ul class="list">
          !${rows.join('')}
        </ul>`;
  return page(
    'Companies',
    html`<header class="bar">
        <strong>Agent control plane</strong>
        <form method="post" action="/logout">
          <span class="soft">${user_name}</span><button class="quiet">Sign out</button>
        </form>
      </header>
      <main>
        <h1>Companies</h1>
        <div class="card">!${list}</div>
        <p class="soft">The whole API is described at <a href="/api/docs">/api/docs</a>.</p>
      </main>`,
  );
}
