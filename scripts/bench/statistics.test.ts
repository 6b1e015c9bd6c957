import { describe, expect, it } from '@jest/globals';
import { slopeOf } from './statistics.ts';

describe('the slope of values over time', () => {
  it('is what they grow by, without doubt where they lie on a line', () => {
    const { slope, error } = slopeOf([10, 12, 14, 16, 18]);
    expect(slope).toBeCloseTo(2);
    expect(error).toBeCloseTo(0);
  });

  it('comes with what it may be wrong by: with Student’s t of 2.776 for six of them', () => {
    const { slope, error } = slopeOf([100, 104, 101, 107, 103, 108]);
    expect(slope).toBeCloseTo(1.2286, 3);
    expect(error).toBeCloseTo(1.64, 2);
  });

  it('says nothing of two', () => {
    expect(slopeOf([1, 2]).error).toBeNaN();
  });
});
