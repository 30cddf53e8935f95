import { describe, expect, test } from 'vitest';
import { parseSelector, SelectorError } from '@webcapture/shared/api/selector.ts';

const cssOf = (selector: string) => parseSelector(selector).map(({ css }) => css);

describe('parseSelector', () => {
  test.each<[selector: string, parts: string[]]>([
    ['p', ['p']],
    ['iframe#app >> .content', ['iframe#app', '.content']],
    ['a>>b >>c', ['a', 'b', 'c']],
    ['a, b > c >> d e', ['a, b > c', 'd e']],
    ['[title="a >> b"]', ['[title="a >> b"]']],
    [`[title='a >> b'] >> [title="("]`, [`[title='a >> b']`, '[title="("]']],
    ['.a\\>\\>b', ['.a\\>\\>b']],
    ['.a\\( >> b', ['.a\\(', 'b']],
    ['a /* >> */ b', ['a /* >> */ b']],
    ['a:is(b > c) >> d', ['a:is(b > c)', 'd']],
    ['p:some-day(a >> b)', ['p:some-day(a >> b)']],
  ])('splits %s into the parts %j', (selector, parts) => {
    expect(cssOf(selector)).toEqual(parts);
  });

  test('splits each selector with combinators in a list into compound selectors', () => {
    expect(parseSelector('p, a.b > c:is(d e)::after ~ f, svg|g h + i')[0]?.chains).toEqual([
      [
        { combinator: '', css: 'a.b' },
        { combinator: '>', css: 'c:is(d e)::after' },
        { combinator: '~', css: 'f' },
      ],
      [
        { combinator: '', css: 'svg|g' },
        { combinator: ' ', css: 'h' },
        { combinator: '+', css: 'i' },
      ],
    ]);
  });

  test.each<[selector: string, message: string]>([
    ['>> a', 'there is no selector before the first ">>": write frame >> element'],
    ['a >>', 'there is no selector after the last ">>": write frame >> element'],
    ['a >> >> b', 'there is no selector between two ">>": write frame >> element'],
    ['a >>> b', '">>>" is unknown: selectors match in open shadow roots by themselves, ">>" enters a frame'],
    ['a > > b', 'Selector is expected between two combinators'],
    ['a:is(b >> c)', 'Selector is expected between two combinators'],
    ['a >> > b', 'Selector is expected, in part 2 of 2'],
    ['#1 >> b', 'an id that begins with a digit needs an escape, or [id="…"], in part 1 of 2'],
    ['a:not( >> b', '")" is expected'],
    [' ', 'Selector is expected'],
  ])('refuses %j: %s', (selector, message) => {
    expect(() => parseSelector(selector)).toThrow(new SelectorError(message));
  });
});
