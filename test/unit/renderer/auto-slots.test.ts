import { describe, expect, test } from 'vitest';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { autoSlots, machineOf, processorQuota } from '../../../services/renderer/auto-slots.ts';

const gibibyte = 1024 ** 3;
const mebibyte = 1024 ** 2;

describe('automatic slots', () => {
  test.each([
    ['three for two cores', { cores: 4, memoryBytes: 16 * gibibyte }, 6],
    ['rounded down', { cores: 2.6, memoryBytes: 16 * gibibyte }, 3],
    ['one at least', { cores: 0.5, memoryBytes: 512 * mebibyte }, 1],
    ['as many as fit into the memory', { cores: 8, memoryBytes: (1024 + 3 * 400) * mebibyte }, 3],
    ['no more than fit into the memory', { cores: 8, memoryBytes: (1024 + 3 * 400) * mebibyte - 1 }, 2],
    ['as many as can be configured', { cores: 256, memoryBytes: 1024 * gibibyte }, 64],
  ])('are %s', (_name, machine, slots) => {
    expect(autoSlots(machine)).toBe(slots);
  });

  test('are what the variable `auto` stands for', () => {
    const slots = autoSlots(machineOf());
    const { slots: configured, browserMemoryBytes } = readRendererConfig({ WEBCAPTURE_SLOTS: 'auto' });
    expect(configured).toBe(slots);
    expect(browserMemoryBytes).toBe((1024 + 400 * slots) * mebibyte);
    expect(() => readRendererConfig({ WEBCAPTURE_SLOTS: 'automatic' })).toThrow(
      'WEBCAPTURE_SLOTS must be an integer from 1 to 64 or auto, not "automatic"',
    );
    expect(() => readRendererConfig({ WEBCAPTURE_PAGE_MEMORY_MB: 'auto' })).toThrow(
      'WEBCAPTURE_PAGE_MEMORY_MB must be',
    );
  });
});

describe('the processors of a container', () => {
  const quotaOf = (files: Readonly<Record<string, string>>) => processorQuota((path) => files[path]);
  const version1 = (quota: string) => ({
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': quota,
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  });

  test.each([
    ['cgroups of version 2', { '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, 1.5],
    ['cgroups of version 2 without a quota', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, undefined],
    ['cgroups of version 1', version1('400000\n'), 4],
    ['cgroups of version 1 without a quota', version1('-1\n'), undefined],
    ['no cgroups', {}, undefined],
  ])('by %s', (_name, files, cores) => {
    expect(quotaOf(files)).toBe(cores);
  });

  test('are fewer than those of its machine', () => {
    const small = machineOf((path) => (path === '/sys/fs/cgroup/cpu.max' ? '50000 100000' : undefined));
    expect(small.cores).toBe(0.5);
    expect(small.memoryBytes).toBeGreaterThan(0);
    expect(machineOf(() => undefined).cores).toBeGreaterThanOrEqual(1);
  });
});
