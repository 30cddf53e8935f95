import type { AlertCase } from './alert-case.ts';

const status = (component: string) => `webcapture_component_status{component="${component}"}`;
const front = (outcome: string, cause = 'none') =>
  `webcapture_front_captures_total{region="us-east",outcome="${outcome}",cause="${cause}"}`;
const answered = 'method="POST",route="/capture",status="2xx"';
const fast = `webcapture_front_request_seconds_bucket{${answered},le="10"}`;
const all = `webcapture_front_request_seconds_count{${answered}}`;

/** Cases of the alerts for error budgets. */
export const budgetAlertCases: readonly AlertCase[] = [
  {
    alert: 'WebcaptureSuccessBudgetBurns',
    // 10% failures for an hour, until now.
    after: '70m',
    fires: { [front('completed')]: '0+90x70', [front('CAPTURE_FAILED', 'service')]: '0+10x70' },
    labels: {},
    summary: 'Captures fail: the error budget of 30 days will be used up within days',
    // The failures have ended, or were caused by pages and clients.
    quiet: {
      [front('completed')]: '0+90x70',
      [front('CAPTURE_FAILED', 'service')]: '0+10x35 350x35',
      [front('NAVIGATION_FAILED', 'page')]: '0+50x70',
      [front('CAPTURE_FAILED', 'client')]: '0+50x70',
      [front('QUEUE_FULL', 'client')]: '0+50x70',
      [front('QUOTA_EXCEEDED', 'client')]: '0+50x70',
    },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurns',
    // 4% failures for six hours, which is too little for the short windows.
    after: '6h10m',
    fires: { [front('completed')]: '0+96x370', [front('STORAGE_FAILED', 'service')]: '0+4x370' },
    labels: {},
    summary: 'Captures fail: the error budget of 30 days will be used up within days',
    // The rate is within the error budget, or the share is high but there are very few captures.
    quiet: { [front('completed')]: '0+99x370', [front('STORAGE_FAILED', 'service')]: '0+1x370' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurns',
    after: '70m',
    fires: { [front('completed')]: '0+1x70', [front('QUEUE_FULL', 'service')]: '0+1x70' },
    labels: {},
    summary: 'Captures fail: the error budget of 30 days will be used up within days',
    quiet: { [front('completed')]: '0 1x69', [front('QUEUE_FULL', 'service')]: '0 1x69' },
  },
  {
    alert: 'WebcaptureLatencyBudgetBurns',
    after: '70m',
    fires: { [all]: '0+100x70', [fast]: '0+20x70' },
    labels: {},
    summary: 'Captures take more than 10 s: the budget of 30 days will be used up within days',
    quiet: { [all]: '0+100x70', [fast]: '0+80x70' },
  },
  {
    alert: 'WebcaptureAvailabilityBudgetBurns',
    after: '70m',
    // A partial outage of 5 minutes that continues.
    fires: { [status('engine.us-east')]: '0x64 2x6' },
    labels: { component: 'engine.us-east' },
    summary: 'engine.us-east has outages: its error budget of 30 days will be used up within days',
    quiet: { [status('engine.us-east')]: '1x70', [status('storage')]: '3x70' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurnsSlowly',
    after: '26h',
    every: '10m',
    // 2% failures for a day, which is too little for the fast alert.
    fires: { [front('completed')]: '0+98x1560', [front('CAPTURE_FAILED', 'service')]: '0+2x1560' },
    labels: {},
    summary: 'Captures fail: the error budget of 30 days will be used up early',
    // There are too few captures, although half of them fail.
    quiet: { [front('completed')]: '0x1500 0+1x60', [front('CAPTURE_FAILED', 'service')]: '0x1500 0+1x60' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurnsSlowly',
    after: '74h',
    every: '10m',
    // 0.8% failures for three days.
    fires: { [front('completed')]: '0+992x4440', [front('CAPTURE_FAILED', 'service')]: '0+8x4440' },
    labels: {},
    summary: 'Captures fail: the error budget of 30 days will be used up early',
    // The rate is within the budget.
    quiet: { [front('completed')]: '0+996x4440', [front('CAPTURE_FAILED', 'service')]: '0+4x4440' },
  },
  {
    alert: 'WebcaptureLatencyBudgetBurnsSlowly',
    after: '26h',
    every: '10m',
    fires: { [all]: '0+100x1560', [fast]: '0+80x1560' },
    labels: {},
    summary: 'Captures take more than 10 s: the budget of 30 days will be used up early',
    quiet: { [all]: '0+100x1560', [fast]: '0+96x1560' },
  },
  {
    alert: 'WebcaptureAvailabilityBudgetBurnsSlowly',
    after: '26h',
    // An outage of one minute every four hours.
    fires: { [status('engine.us-east')]: `${'0x239 3 '.repeat(6)}0x110 3x10` },
    labels: { component: 'engine.us-east' },
    summary: 'engine.us-east has outages: its error budget of 30 days will be used up early',
    // One outage of a minute in a day, and one of another component.
    quiet: { [status('engine.us-east')]: '0x1400 3 0x200', [status('storage')]: '3x1560' },
  },
];
