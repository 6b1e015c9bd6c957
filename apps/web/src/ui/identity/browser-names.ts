/** The names of browsers, from what they say of themselves. */
import { t } from '../kit/language.ts';

/** `Firefox on Windows`; null if it is not known. Programs are shown as they name themselves, to 60 characters. */
export type BrowserNames = (user_agent: string | null) => string | null;

/** The library is loaded by the first page that needs it. */
export async function browserNames(): Promise<BrowserNames> {
  const { default: Bowser } = await import('bowser');
  return (user_agent) => {
    if (user_agent === null || user_agent === '') return null;
    const { browser, os } = Bowser.parse(user_agent);
    if (!browser.name) return user_agent.slice(0, 60);
    return os.name ? t`${browser.name} on ${os.name}` : browser.name;
  };
}
