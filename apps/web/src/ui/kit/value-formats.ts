/** What the contract's patterns and formats ask for, in words: `must match pattern "…"` helps nobody who fills in a form. */
import { texts } from './language.ts';

const patterns: Readonly<Record<string, string>> = texts({
  '^[^\\u0000]*$': 'May not contain control characters.',
  '^[^\\p{Cc}]*$': 'May not contain control characters.',
  '^[^\\u0000-\\u001f\\u007f]+$': 'May not contain control characters.',
  '^.*$': 'Has to be a single line.',
  '\\S': 'May not be blank.',
  '^[^\\u0000]+$': 'May not be blank.',
  '^[^\\u0000]*\\S[^\\u0000]*$': 'May not be blank.',
  '^[^\\s\\u0000]+$': 'May not contain spaces.',
  '^[\\x21-\\x7e]+$': 'Use letters, digits and signs without accents, and no spaces.',
  '^[a-z0-9]+(-[a-z0-9]+)*$':
    'Use lower-case letters a-z and digits, with single hyphens between them: my-team.',
  '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$':
    'Use letters a-z and digits, with hyphens, underscores or dots between them: my-plugin.',
  '^[a-z0-9]+([_-][a-z0-9]+)*$':
    'Use lower-case letters a-z and digits, with single hyphens or underscores between them: my-tracker.',
  '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._-]*$':
    'Use letters, digits, spaces, dots, underscores and hyphens, beginning with a letter or digit.',
  '^[A-Z][A-Z0-9_]*$': 'Use capitals A-Z, digits and underscores, beginning with a letter: API_KEY.',
  '^\\$\\{secret:[A-Z][A-Z0-9_]*\\}$': 'Choose a secret of the company.',
  '^[A-Za-z0-9-]{1,40}$': 'Use ids of letters, digits and hyphens, at most 40 characters each.',
  '^[A-Za-z0-9._/{}-]+$':
    'Use letters, digits, dots, underscores, slashes and hyphens; {issue} and the like are filled in.',
  '^[A-Za-z0-9_][A-Za-z0-9._/+#@-]{0,199}$': 'Use the name of a branch, such as main.',
  '^https?://[^\\s\\u0000]+$': 'Use an address that begins with http:// or https://.',
  '^[hH][tT][tT][pP][sS]?://[^\\s\\u0000]+$': 'Use an address that begins with http:// or https://.',
  '^/[^\\u0000]+$': 'Use a path that begins with a slash: /opt/plugins/github.',
  '^[0-9a-f]{64}$': 'Use the 64 digits (0-9, a-f) of a SHA-256 checksum.',
  '^(off|\\S+( \\S+){4})$':
    'Use five fields with a space between them, minute, hour, day, month and weekday, such as 0 3 * * *, or off.',
  '^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$': 'Use the code of a language, such as en or pt-BR.',
  '^(\\*|[\\w-]+)(\\.(\\*|[\\w-]+))*$':
    'Use names of events, such as issue.created, or patterns, such as issue.* or *.',
  '^(http_fetch|log|kv|issues\\.read|issues\\.comment|metrics|secret:[A-Z][A-Z0-9_]*)$':
    'Use capitals A-Z, digits and underscores, beginning with a letter: API_KEY.',
});

const formats: Readonly<Record<string, string>> = texts({
  email: 'Must be an e-mail address.',
  uuid: 'Must be the id of something that exists.',
  'date-time': 'Use a date and time, such as 2027-03-01T09:00:00Z.',
});

export const patternInWords = (pattern: string): string | undefined => patterns[pattern];
export const formatInWords = (format: string): string | undefined => formats[format];
