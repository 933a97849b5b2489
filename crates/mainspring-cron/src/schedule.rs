//! An expression in a time zone, with what it does at changes of the clock: the thing that has a next occurrence.
//!
//! Answers are found by arithmetic on bit sets, allocate nothing, and do not depend on how far away they are. A
//! schedule that never runs says so in well under a millisecond. See `zone` for the windows behind the DST policies.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::dst::DstPolicy;
use crate::expression::Expression;
use crate::pattern::HourRule;
use crate::zone::ZonedCalendar;

const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

/// Says when something is due, in a time zone.
///
/// # Example
/// ```
/// use jiff::tz::TimeZone;
/// use mainspring_cron::{DstPolicy, Expression, Schedule};
///
/// let zone = TimeZone::get("America/New_York")?;
/// let schedule = Schedule::new(Expression::parse("30 2 * * *")?, zone).with_dst(DstPolicy::SHIFT);
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
    /// Reads an expression in a zone, by the rule for changes of the clock that belongs to its language: Debian's
    /// ([`DstPolicy::CRON`]) for cron, [`DstPolicy::SKIP`] for OnCalendar, as systemd does.
    pub fn new(expression: Expression, zone: TimeZone) -> Schedule {
        let dst = expression.default_dst();
        Schedule { expression, zone, dst }
    }

    /// Chooses what fixed-time jobs do at changes of the clock. In OnCalendar every time is a fixed time: systemd knows
    /// no wildcard jobs, and lets `*:0/15` rest while an hour is repeated.
    pub fn with_dst(mut self, dst: DstPolicy) -> Schedule {
        self.dst = dst;
        self
    }

    /// The first occurrence strictly after a moment, in the schedule's zone. `None` means never.
    ///
    /// Cron's occurrences lie on whole seconds; those of `@every`, `@at` and OnCalendar need not. The search ends 400
    /// years away: after that the calendar only repeats itself.
    pub fn next_after(&self, after: Timestamp) -> Option<Zoned> {
        let found = match &self.expression {
            Expression::Calendar(_) | Expression::OnCalendar(_) => {
                self.zoned_calendar()?.next(after.checked_add(INSTANT).ok()?)
            }
            Expression::Every(every) => every.next_after(after),
            Expression::At(moment) => Some(*moment).filter(|&moment| after < moment),
            Expression::Reboot => None,
        };
        found.map(|moment| moment.to_zoned(self.zone.clone()))
    }

    /// The last occurrence strictly before a moment, in the schedule's zone. `None` means that there was none in the
    /// 400 years before it.
    ///
    /// # Example
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mainspring_cron::{Expression, Schedule};
    ///
    /// let schedule = Schedule::new(Expression::parse("0 0 29 2 *")?, TimeZone::UTC);
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
        found.map(|moment| moment.to_zoned(self.zone.clone()))
    }

    /// The occurrences strictly after a moment, one after the other.
    ///
    /// # Example
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mainspring_cron::{Expression, Schedule};
    ///
    /// let schedule = Schedule::new(Expression::parse("0 9 * * mon-fri")?, TimeZone::UTC);
    /// let friday = "2025-06-06T12:00:00Z".parse()?;
    /// let days: Vec<i8> = schedule.upcoming(friday).take(3).map(|time| time.day()).collect();
    /// assert_eq!(days, [9, 10, 11]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn upcoming(&self, after: Timestamp) -> Upcoming<'_> {
        Upcoming { schedule: self, after: Some(after) }
    }

    /// Whether it is due at a start of the scheduler, and at no time.
    pub fn is_reboot(&self) -> bool {
        self.expression == Expression::Reboot
    }

    /// What is due.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Where its wall clock stands. An OnCalendar expression with a zone of its own is read there, and shown here.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// What fixed-time jobs do at changes of the clock.
    pub fn dst(&self) -> DstPolicy {
        self.dst
    }

    /// The calendar, the zone it is read in, and the policy that its jobs are under; `None` if it is not a calendar.
    pub(crate) fn zoned_calendar(&self) -> Option<ZonedCalendar<'_>> {
        match &self.expression {
            Expression::Calendar(pattern) => {
                let policy = match pattern.hour_rule() {
                    HourRule::Wildcard => DstPolicy::LITERAL,
                    HourRule::Fixed => self.dst,
                };
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

/// The occurrences of a schedule in strictly increasing order: see [`Schedule::upcoming`].
#[derive(Clone, Debug)]
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
