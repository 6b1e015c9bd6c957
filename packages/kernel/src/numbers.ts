/** Numbers in a language's notation. Creating a format takes longer than using it a thousand times. */
const formats = new Map<string, Intl.NumberFormat>();

export function written(value: number, locale: string, options: Intl.NumberFormatOptions = {}): string {
  const key = `${locale} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.NumberFormat(locale, options);
    formats.set(key, format);
  }
  return format.format(value);
}
