import { isNestedDeeper, MAX_JSON_DEPTH } from './json-depth.ts';

/**
 * The JSON object in a model's answer, ignoring the text around it; undefined if there is none. Answers are hostile input: a
 * pattern that looks for the braces takes time with the square of their number.
 */
export function answeredJson(answer: string): unknown {
  const [from, to] = [answer.indexOf('{'), answer.lastIndexOf('}')];
  const json = from === -1 ? '' : answer.slice(from, to + 1);
  if (json === '' || isNestedDeeper(json, MAX_JSON_DEPTH)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
