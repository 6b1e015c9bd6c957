/** What the holder of an invite sees: a form to create an account, or to join with the one that is signed in. */
import type { CompanyRole } from '@acp/contract';
import { words } from './kit/format.ts';
import { html } from './kit/html.ts';
import { providerLinks, type ProviderLink } from './login-pages.ts';
import { accountFields, errorLine, page } from './page.ts';

interface InviteView {
  token: string;
  company_name: string;
  role: CompanyRole;
  /** The signed-in user; null for a newcomer. */
  user_name: string | null;
  providers: readonly ProviderLink[];
  /** What the newcomer had typed. */
  email: string;
  display_name: string;
}

export function invitePage(view: InviteView, error: string | null): string {
  const { company_name, role, user_name, token } = view;
  const card = user_name === null ? newcomerForm(view, error) : acceptForm(user_name, token, error);
  return page(
    'Invite',
    html`<main class="narrow">
      <h1>Join ${company_name}</h1>
      <p class="soft">You are invited with the role ${words(role)}.</p>
      !${card}
    </main>`,
  );
}

export function inviteClosedPage(): string {
  return page(
    'Invite',
    html`<main class="narrow">
      <div class="card">
        <h1>This invite is no longer valid</h1>
        <p>It was used already, or has expired. Ask an administrator of the company for a new one.</p>
        <p><a href="/login">Sign in</a></p>
      </div>
    </main>`,
  );
}

function acceptForm(user_name: string, token: string, error: string | null): string {
  return html`<form class="card" method="post" action="/invites/${token}">
    !${errorLine(error)}
    <input type="hidden" name="accept" value="yes" />
    <button>Join as ${user_name}</button>
  </form>`;
}

function newcomerForm(view: InviteView, error: string | null): string {
  const { token, providers } = view;
  return html`<form class="card" method="post" action="/invites/${token}">
    !${errorLine(error)} !${accountFields(view)}
    <button>Create an account and join</button>
    !${providerLinks(providers, { name: 'invite', value: token })}
    <p class="soft">Already have an account? <a href="/login">Sign in</a>, then open this link again.</p>
  </form>`;
}
