import { describe, expect, it } from '@jest/globals';
import { isPriced, parsePricing, priceOf } from './index.ts';

const usage = (input_tokens: number, output_tokens: number, cached_tokens = 0) => ({
  input_tokens,
  output_tokens,
  cached_tokens,
});

describe('the price of a usage', () => {
  const file = parsePricing({
    small: { InputPer1K: 0.00015, OutputPer1K: 0.0006 },
    caching: { InputPer1K: 0.003, OutputPer1K: 0.015, CachedPer1K: 0.0003 },
    free: { InputPer1K: 0, OutputPer1K: 0 },
  });

  it('is the rate per 1,000 tokens, to eight decimals', () => {
    expect(priceOf({ file, company: {} }, 'small', usage(1000, 1000))).toBe('0.00075000');
    expect(priceOf({ file, company: {} }, 'small', usage(1, 0))).toBe('0.00000015');
    expect(priceOf({ file, company: {} }, 'small', usage(7_654_321, 123_456))).toBe('1.22222175');
    expect(priceOf({ file, company: {} }, 'free', usage(5, 5))).toBe('0.00000000');
  });

  it('of a model that the file does not name is the default', () => {
    expect(priceOf({ file, company: {} }, 'unheard-of', usage(1000, 1000))).toBe('0.01800000');
    expect(priceOf({ file: {}, company: {} }, 'constructor', usage(0, 2000))).toBe('0.03000000');
  });

  it('of a model that the company has priced is that, unless the file names the model too', () => {
    const company = parsePricing({
      small: { InputPer1K: 0, OutputPer1K: 0 },
      own: { InputPer1K: 0.001, OutputPer1K: 0.002 },
    });
    const prices = { file, company };
    expect(priceOf(prices, 'own', usage(1000, 1000))).toBe('0.00300000');
    expect(priceOf(prices, 'small', usage(1000, 1000))).toBe('0.00075000');
    expect(['own', 'small', 'unheard-of', 'toString'].map((model) => isPriced(prices, model))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('counts cached tokens, which the input includes, at their own rate only where there is one', () => {
    expect(priceOf({ file, company: {} }, 'caching', usage(1000, 0, 900))).toBe('0.00057000');
    expect(priceOf({ file, company: {} }, 'small', usage(1000, 0, 900))).toBe('0.00015000');
    expect(priceOf({ file, company: {} }, 'caching', usage(100, 0, 900))).toBe('0.00003000');
  });

  it('is exact where floats are not, and rounds half up', () => {
    expect(
      priceOf({ file: { m: { InputPer1K: 0.1, OutputPer1K: 0.2 } }, company: {} }, 'm', usage(1, 1)),
    ).toBe('0.00030000');
    expect(
      priceOf({ file: { m: { InputPer1K: 0.000005, OutputPer1K: 0 } }, company: {} }, 'm', usage(1, 0)),
    ).toBe('0.00000001');
    expect(
      priceOf({ file: { m: { InputPer1K: 0.000004, OutputPer1K: 0 } }, company: {} }, 'm', usage(1, 0)),
    ).toBe('0.00000000');
  });

  it('of counts that no provider can mean is nothing', () => {
    expect(priceOf({ file, company: {} }, 'small', usage(-5, Number.NaN))).toBe('0.00000000');
  });
});

describe('a pricing file', () => {
  it.each([[[]], ['x'], [{ m: { InputPer1K: '1' } }], [{ m: { InputPer1K: -1, OutputPer1K: 0 } }], [null]])(
    'is refused when it is %j',
    (json) => {
      expect(() => parsePricing(json)).toThrow(/pricing/);
    },
  );
});
