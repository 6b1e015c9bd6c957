import { currentLanguage, currentZone } from './language.ts';

interface Clock {
  /** The reader's by default. */
  zone?: string;
  /** Replaces what is shown of the date and the time. */
  parts?: Intl.DateTimeFormatOptions;
}

const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };
const TIME: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };

/** Creating a format takes longer than using it a thousand times. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** `28 Nov 2026, 10:24:05 CET` */
export function clockTime(
  date: Date,
  { zone = currentZone(), parts = { second: '2-digit' } }: Clock = {},
): string {
  // 24 hours, as in the other languages.
  const locale = currentLanguage() === 'en' ? 'en-GB' : currentLanguage();
  const options = { ...DATE, ...TIME, ...parts, timeZone: zone };
  const key = `${locale} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(locale, options);
    formats.set(key, format);
  }
  return format.format(date);
}
