//! A schedule: an expression in a time zone, with a policy for changes of the clock.
//!
//! Answers are found by arithmetic on bit sets, allocate nothing, and cost the same however far away they
//! are. The windows behind the policies are in `zone`.

use std::hash::{Hash, Hasher};

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::dst::DstPolicy;
use crate::expression::Expression;
use crate::zone::ZonedCalendar;

const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

/// When something is due, in a time zone: an [`Expression`], the zone, and a [`DstPolicy`].
///
/// All times are of the wall clock of the zone, except those of `@every` and `@at`, which are moments and do
/// not depend on it. The schedule reads no clock: the caller passes the moment from which to search.
///
/// `Display` and `FromStr` use one line, such as `CRON_TZ=Europe/Paris DST=shift 30 2 * * *`.
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Schedule};
///
/// let schedule = Schedule::parse("30 2 * * *", "America/New_York")?.with_dst(DstPolicy::SHIFT);
/// // On 9 March 2025 the clock goes from 02:00 to 03:00.
/// let next = schedule.next_after("2025-03-09T00:00:00-05:00".parse()?).expect("there is one every day");
/// assert_eq!(next.timestamp().to_string(), "2025-03-09T07:30:00Z");
/// assert_eq!(next.hour(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    expression: Expression,
    zone: TimeZone,
    dst: DstPolicy,
}

impl Schedule {
    /// Puts an expression into a zone. The policy at changes of the clock is that of the expression's
    /// language: Debian's ([`DstPolicy::CRON`]) for cron and Quartz, systemd's ([`DstPolicy::SKIP`]) for
    /// OnCalendar.
    ///
    /// # Example
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mainspring_cron::{DstPolicy, Expression, Schedule};
    ///
    /// let monday = Expression::parse_oncalendar("Mon 09:00")?;
    /// let schedule = Schedule::new(monday, TimeZone::get("Asia/Tokyo")?);
    /// assert_eq!(schedule.dst(), DstPolicy::SKIP);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(expression: Expression, zone: TimeZone) -> Schedule {
        let dst = expression.default_dst();
        Schedule { expression, zone, dst }
    }

    /// Sets what fixed-time jobs do at changes of the clock. It has no effect on a cron expression whose
    /// minute or hour begins with `*`, nor on `@every`, `@at` and `@reboot`. In OnCalendar every time is a
    /// fixed time: systemd does not run `*:0/15` while an hour is repeated.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::{DstPolicy, Schedule};
    ///
    /// let schedule = Schedule::parse("30 1 * * *", "Europe/London")?.with_dst(DstPolicy::LITERAL);
    /// let night = schedule.upcoming("2025-10-26T00:00:00Z".parse()?);
    /// let times: Vec<String> = night.take(2).map(|time| time.timestamp().to_string()).collect();
    /// assert_eq!(times, ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_dst(mut self, dst: DstPolicy) -> Schedule {
        self.dst = dst;
        self
    }

    /// The first occurrence strictly after a moment, in the schedule's zone. `None` means never: the search
    /// ends 400 years away, because then the calendar repeats itself, and at the end of the year 9999.
    ///
    /// Occurrences of cron lie on whole seconds, those of OnCalendar on microseconds, those of `@every` and
    /// `@at` on nanoseconds. Allocates nothing.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Schedule;
    ///
    /// let schedule = Schedule::parse("0 12 * * *", "UTC")?;
    /// let noon = "2025-06-06T12:00:00Z".parse()?;
    /// let next = schedule.next_after(noon).expect("there is one each day");
    /// assert_eq!(next.timestamp().to_string(), "2025-06-07T12:00:00Z");
    /// assert_eq!(Schedule::parse("0 0 30 2 *", "UTC")?.next_after(noon), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_after(&self, after: Timestamp) -> Option<Zoned> {
        let found = match &self.expression {
            Expression::Calendar(_) | Expression::OnCalendar(_) => {
                self.zoned_calendar()?.next(after.checked_add(INSTANT).ok()?)
            }
            Expression::Every(every) => every.next_after(after),
            Expression::At(moment) => Some(*moment).filter(|&moment| after < moment),
            Expression::Reboot => None,
        };
        debug_assert!(found.is_none_or(|found| after < found), "a search from it gets further");
        found.map(|moment| moment.to_zoned(self.zone.clone()))
    }

    /// The last occurrence strictly before a moment, in the schedule's zone. `None` means that there was none
    /// in the 400 years before it. Allocates nothing.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Schedule;
    ///
    /// let schedule = Schedule::parse("0 0 29 2 *", "UTC")?;
    /// let last = schedule.prev_before("2023-07-01T00:00:00Z".parse()?);
    /// assert_eq!(last.unwrap().timestamp().to_string(), "2020-02-29T00:00:00Z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prev_before(&self, before: Timestamp) -> Option<Zoned> {
        let found = match &self.expression {
            Expression::Calendar(_) | Expression::OnCalendar(_) => {
                self.zoned_calendar()?.prev(before.checked_sub(INSTANT).ok()?)
            }
            Expression::Every(every) => every.prev_before(before),
            Expression::At(moment) => Some(*moment).filter(|&moment| moment < before),
            Expression::Reboot => None,
        };
        debug_assert!(found.is_none_or(|found| found < before));
        found.map(|moment| moment.to_zoned(self.zone.clone()))
    }

    /// The occurrences strictly after a moment, in order. Most schedules have no end: take as many as needed.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Schedule;
    ///
    /// let schedule = Schedule::parse("0 9 * * mon-fri", "UTC")?;
    /// let friday = "2025-06-06T12:00:00Z".parse()?;
    /// let days: Vec<i8> = schedule.upcoming(friday).take(3).map(|time| time.day()).collect();
    /// assert_eq!(days, [9, 10, 11]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_> {
        Upcoming { schedule: self, after: Some(after) }
    }

    /// Whether it is `@reboot`: due when the machine starts, and at no time.
    pub fn is_reboot(&self) -> bool {
        self.expression == Expression::Reboot
    }

    /// The expression.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The zone of its wall clock. An OnCalendar expression with a zone of its own is read in that one, and
    /// its occurrences are converted to this one.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// What fixed-time jobs do at changes of the clock.
    pub fn dst(&self) -> DstPolicy {
        self.dst
    }

    /// The calendar, its zone and its policy; `None` if the expression is not a calendar.
    pub(crate) fn zoned_calendar(&self) -> Option<ZonedCalendar<'_>> {
        match &self.expression {
            Expression::Calendar(pattern) => {
                let policy = if pattern.is_wildcard() { DstPolicy::LITERAL } else { self.dst };
                Some(ZonedCalendar { calendar: pattern.calendar(), zone: &self.zone, policy })
            }
            Expression::OnCalendar(calendar) => {
                let zone = calendar.zone().unwrap_or(&self.zone);
                Some(ZonedCalendar { calendar: calendar.calendar(), zone, policy: self.dst })
            }
            Expression::Every(_) | Expression::At(_) | Expression::Reboot => None,
        }
    }
}

/// Without the zone: jiff has no hash of one, and may come to call two names of a zone equal.
impl Hash for Schedule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expression.hash(state);
        self.dst.hash(state);
    }
}

/// The occurrences of a schedule in strictly increasing order: the iterator of [`Schedule::upcoming`].
///
/// Each step costs one [`Schedule::next_after`]. It ends where the schedule does.
///
/// # Example
/// ```
/// use mainspring_cron::Schedule;
///
/// let leap_days = Schedule::parse("0 0 29 2 *", "UTC")?;
/// let start = "2025-01-01T00:00:00Z".parse()?;
/// let years: Vec<i16> = leap_days.upcoming(start).take(3).map(|time| time.year()).collect();
/// assert_eq!(years, [2028, 2032, 2036]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing until it is asked"]
pub struct Upcoming<'s> {
    schedule: &'s Schedule,
    after: Option<Timestamp>,
}

impl Iterator for Upcoming<'_> {
    type Item = Zoned;

    fn next(&mut self) -> Option<Zoned> {
        let found = self.schedule.next_after(self.after?);
        self.after = found.as_ref().map(Zoned::timestamp);
        found
    }
}

impl std::iter::FusedIterator for Upcoming<'_> {}
