/** A syntax tree, as far as the search for texts needs it. */
export interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

/** Types contain no texts, and comments none that are shown. */
const SKIPPED = new Set([
  'loc',
  'leadingComments',
  'trailingComments',
  'innerComments',
  'typeAnnotation',
  'typeParameters',
  'returnType',
]);

/** @param options.keys include property names */
export function valuesIn(node: Node, { keys = true }: { keys?: boolean } = {}): Node[] {
  return Object.entries(node)
    .filter(([field]) => !SKIPPED.has(field) && (keys || field !== 'key' || node.computed === true))
    .flatMap(([, value]) => value)
    .filter((value): value is Node => typeof value === 'object' && value !== null && 'type' in value);
}
