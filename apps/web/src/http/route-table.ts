/**
 * Maps method and path to a row. Express tries its routes one after another; a tree over path segments costs the same for
 * ten rows and for three hundred, and knows which methods a path has (405 with `Allow`).
 * A literal segment takes precedence over a parameter, without backtracking: no id looks like one of our literals. `{path*}`
 * matches the rest of the path and has no siblings.
 */
import { methodNotAllowed } from '@acp/kernel';

interface RoutePattern {
  readonly method: string;
  /** `/api/issues/{issueId}` */
  readonly path: string;
}

export interface Match<T> {
  readonly target: T;
  /** Values of the path's parameters in order, as they appear in the URL. */
  readonly values: readonly string[];
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  parameter?: Node<T>;
  /** Matches all remaining segments, at least one. */
  rest?: Node<T>;
  readonly methods: Map<string, T>;
}

const newNode = <T>(): Node<T> => ({ literals: new Map(), methods: new Map() });

export class RouteTable<T> {
  readonly #root = newNode<T>();

  /** Throws if method and path are taken: one row would hide the other. */
  add({ method, path }: RoutePattern, target: T): void {
    let node = this.#root;
    for (const segment of path.slice(1).split('/')) {
      if (segment.endsWith('*}')) {
        node = node.rest ??= newNode();
      } else if (segment.startsWith('{')) {
        node = node.parameter ??= newNode();
      } else {
        const next = node.literals.get(segment) ?? newNode<T>();
        node.literals.set(segment, next);
        node = next;
      }
    }
    if (node.methods.has(method)) throw new Error(`two routes for ${method} ${path}`);
    node.methods.set(method, target);
  }

  has(method: string, path: string): boolean {
    return this.#at(path)?.methods.has(method) ?? false;
  }

  /** Undefined for an unknown path; throws `method_not_allowed` for a known one that lacks the method. */
  find(method: string, path: string): Match<T> | undefined {
    const place = this.#at(path);
    if (place === undefined) return undefined;
    const { methods, values } = place;
    const target = methods.get(method);
    if (target === undefined) throw methodNotAllowed([...methods.keys()].toSorted());
    return { target, values };
  }

  #at(path: string): { methods: ReadonlyMap<string, T>; values: readonly string[] } | undefined {
    const values: string[] = [];
    let node = this.#root;
    const segments = path.slice(1).split('/');
    for (const [index, segment] of segments.entries()) {
      const literal = node.literals.get(segment);
      if (node.rest) {
        values.push(segments.slice(index).join('/'));
        node = node.rest;
        break;
      }
      if (literal) {
        node = literal;
      } else if (node.parameter && segment !== '') {
        node = node.parameter;
        values.push(segment);
      } else {
        return undefined;
      }
    }
    return node.methods.size === 0 ? undefined : { methods: node.methods, values };
  }
}
