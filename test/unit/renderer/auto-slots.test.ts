import { describe, expect, test } from 'vitest';
import { readRendererConfig } from '../../../services/renderer/config.ts';
import { autoSlots, machineOf, processorQuota } from '../../../services/renderer/auto-slots.ts';

const gibibyte = 1024 ** 3;
const mebibyte = 1024 ** 2;

describe('automatic slots', () => {
  test.each([
    ['three for every two cores', { cores: 4, memoryBytes: 16 * gibibyte }, 6],
    ['rounded down', { cores: 2.6, memoryBytes: 16 * gibibyte }, 3],
    ['at least one', { cores: 0.5, memoryBytes: 512 * mebibyte }, 1],
    ['as many as fit into memory', { cores: 8, memoryBytes: (1024 + 3 * 400) * mebibyte }, 3],
    ['not more than fit into memory', { cores: 8, memoryBytes: (1024 + 3 * 400) * mebibyte - 1 }, 2],
    ['at most the configurable maximum', { cores: 256, memoryBytes: 1024 * gibibyte }, 64],
  ])('are %s', (_name, machine, slots) => {
    expect(autoSlots(machine)).toBe(slots);
  });

  test('apply if WEBCAPTURE_SLOTS is `auto`', () => {
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

describe('the processor limit of a container', () => {
  const quotaOf = (files: Readonly<Record<string, string>>) => processorQuota((path) => files[path]);
  const version1 = (quota: string) => ({
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': quota,
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  });

  test.each([
    ['cgroups v2', { '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, 1.5],
    ['cgroups v2 without a quota', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, undefined],
    ['cgroups v1', version1('400000\n'), 4],
    ['cgroups v1 without a quota', version1('-1\n'), undefined],
    ['no cgroups', {}, undefined],
  ])('is read from %s', (_name, files, cores) => {
    expect(quotaOf(files)).toBe(cores);
  });

  test('is the number of cores, if it is lower than that of the machine', () => {
    const small = machineOf((path) => (path === '/sys/fs/cgroup/cpu.max' ? '50000 100000' : undefined));
    expect(small.cores).toBe(0.5);
    expect(small.memoryBytes).toBeGreaterThan(0);
    expect(machineOf(() => undefined).cores).toBeGreaterThanOrEqual(1);
  });
});
