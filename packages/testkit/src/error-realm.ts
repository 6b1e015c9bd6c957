import { types } from 'node:util';

// Jest runs test files in a realm of their own, where the errors that Node itself makes (ENOENT, ECONNREFUSED …) are not
// `instanceof Error`, as they are in the service. Before each test file this makes them so again.
const { [Symbol.hasInstance]: isInstance } = Function.prototype;

Object.defineProperty(Error, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // Subclasses inherit this method; they are asked as always.
    return isInstance.call(this, value) || (this === Error && types.isNativeError(value));
  },
});
