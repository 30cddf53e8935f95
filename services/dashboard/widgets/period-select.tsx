/** Selects the number of days of a history. */
export function PeriodSelect({
  days,
  periods,
  onChange,
}: {
  readonly days: number;
  readonly periods: readonly number[];
  readonly onChange: (days: number) => void;
}) {
  return (
    <label class="inline-field">
      <span>Period</span>
      <select class="input" value={days} onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}>
        {periods.map((each) => (
          <option key={each} value={each}>
            {each === 1 ? 'Today' : `${each} days`}
          </option>
        ))}
      </select>
    </label>
  );
}
