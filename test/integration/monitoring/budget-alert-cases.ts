import { type AlertCase, otherAlertCases } from './alert-cases.ts';

const status = (component: string) => `webcapture_component_status{component="${component}"}`;
const front = (outcome: string, cause = 'none') =>
  `webcapture_front_captures_total{region="us-east",outcome="${outcome}",cause="${cause}"}`;
const answered = 'method="POST",route="/capture",status="2xx"';
const fast = `webcapture_front_request_seconds_bucket{${answered},le="10"}`;
const all = `webcapture_front_request_seconds_count{${answered}}`;

/** Cases of the alerts for error budgets. */
const budgetAlertCases: readonly AlertCase[] = [
  {
    alert: 'WebcaptureSuccessBudgetBurns',
    // 10% failures for an hour, until now.
    after: '70m',
    fires: { [front('completed')]: '0+90x70', [front('CAPTURE_FAILED', 'service')]: '0+10x70' },
    labels: {},
    summary: 'Captures fail so often that the error budget of 30 days ends within days',
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
    summary: 'Captures fail so often that the error budget of 30 days ends within days',
    // Within the error budget, and a high share of very few captures.
    quiet: { [front('completed')]: '0+99x370', [front('STORAGE_FAILED', 'service')]: '0+1x370' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurns',
    after: '70m',
    fires: { [front('completed')]: '0+1x70', [front('QUEUE_FULL', 'service')]: '0+1x70' },
    labels: {},
    summary: 'Captures fail so often that the error budget of 30 days ends within days',
    quiet: { [front('completed')]: '0 1x69', [front('QUEUE_FULL', 'service')]: '0 1x69' },
  },
  {
    alert: 'WebcaptureLatencyBudgetBurns',
    after: '70m',
    fires: { [all]: '0+100x70', [fast]: '0+20x70' },
    labels: {},
    summary: 'Captures take more than 10 s so often that the budget of 30 days ends within days',
    quiet: { [all]: '0+100x70', [fast]: '0+80x70' },
  },
  {
    alert: 'WebcaptureAvailabilityBudgetBurns',
    after: '70m',
    // A partial outage of 5 minutes that continues.
    fires: { [status('engine.us-east')]: '0x64 2x6' },
    labels: { component: 'engine.us-east' },
    summary: 'engine.us-east is in an outage so often that its error budget of 30 days ends within days',
    quiet: { [status('engine.us-east')]: '1x70', [status('storage')]: '3x70' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurnsSlowly',
    interval: '10m',
    after: '26h',
    // 2% failures for a day, which is too little for the fast alert.
    fires: { [front('completed')]: '0+980x160', [front('CAPTURE_FAILED', 'service')]: '0+20x160' },
    labels: {},
    summary: 'Captures fail so often that the error budget of 30 days ends early',
    // Half of the captures fail, but there are fewer than 500 in a day.
    quiet: { [front('completed')]: '0+1x160', [front('CAPTURE_FAILED', 'service')]: '0+1x160' },
  },
  {
    alert: 'WebcaptureSuccessBudgetBurnsSlowly',
    interval: '10m',
    after: '74h',
    // 0.8% failures for three days.
    fires: { [front('completed')]: '0+992x450', [front('CAPTURE_FAILED', 'service')]: '0+8x450' },
    labels: {},
    summary: 'Captures fail so often that the error budget of 30 days ends early',
    // Within the budget.
    quiet: { [front('completed')]: '0+996x450', [front('CAPTURE_FAILED', 'service')]: '0+4x450' },
  },
  {
    alert: 'WebcaptureLatencyBudgetBurnsSlowly',
    interval: '10m',
    after: '26h',
    fires: { [all]: '0+100x160', [fast]: '0+80x160' },
    labels: {},
    summary: 'Captures take more than 10 s so often that the budget of 30 days ends early',
    quiet: { [all]: '0+100x160', [fast]: '0+96x160' },
  },
  {
    alert: 'WebcaptureAvailabilityBudgetBurnsSlowly',
    interval: '10m',
    after: '26h',
    // An outage of ten minutes in the last two hours.
    fires: { [status('engine.us-east')]: '0x150 3 0x9' },
    labels: { component: 'engine.us-east' },
    summary: 'engine.us-east is in an outage so often that its error budget of 30 days ends early',
    // The outage has ended long ago, or is one of another component.
    quiet: { [status('engine.us-east')]: '0x100 3 0x59', [status('storage')]: '3x160' },
  },
];

/** Cases of every alert of the chart. */
export const alertCases: readonly AlertCase[] = [...otherAlertCases, ...budgetAlertCases];
