import { expect, test } from 'vitest';
import { help } from '../../../deploy/local/help.ts';

test('the help of npm start lists the main variables, in lines that fit a terminal', () => {
  const text = help();
  for (const name of [
    'PORT',
    'WEBCAPTURE_REGIONS',
    'WEBCAPTURE_ADMIN_TOKEN',
    'WEBCAPTURE_NATS_URL',
    'WEBCAPTURE_LOG_LEVEL',
  ]) {
    expect(text).toContain(`\n  ${name}\n`);
  }
  expect(text.split('\n').filter((line) => line.length > 84 || /[`\]]/.test(line))).toEqual([]);
});
