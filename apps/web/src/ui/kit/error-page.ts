import type { UserActor } from '@acp/contract';
import { html, type Html } from './html.ts';
import { shell } from './shell.ts';

const titles: Record<number, string> = {
  403: 'You may not do this',
  404: 'There is nothing here',
  409: 'That is not possible now',
  503: 'Not available at the moment',
};

/** What is missing and what is somebody else's look the same. */
export function errorPage(user: UserActor, status: number, message: string): Html {
  return shell({
    title: titles[status] ?? (status >= 500 ? 'Something went wrong' : 'That did not work'),
    user,
    company: null,
    body: html`<p class="lead">${message}</p>
      <p><a href="/companies">Back to the companies</a></p>`,
  });
}
