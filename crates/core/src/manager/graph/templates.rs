//! Templates: what tasks that are submitted alike have in common, in memory once.

use crate::manager::api::{Near, Submission};
use crate::wire::CallOptions;
use freestone_base::{FunctionId, Tenant, WorkerId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// So many are compared with a new one; programs submit calls of few functions at a time.
const MAX_RECENT: usize = 8;

/// What the tasks of one `map` have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::manager) struct Template {
    pub function: FunctionId,
    pub options: Arc<CallOptions>,
    pub pinned: Option<WorkerId>,
    pub near: Option<Near>,
    pub priority: i32,
    /// How often a call that fails is tried again.
    pub retries: u32,
    pub tenant: Tenant,
    /// The resources as a number.
    pub class: u32,
}

impl Template {
    pub fn new(submission: &Submission, class: u32) -> Self {
        Self {
            function: submission.function,
            options: Arc::clone(&submission.options),
            pinned: submission.worker,
            near: submission.near,
            priority: submission.priority,
            retries: submission.retries,
            tenant: submission.tenant.unwrap_or_default(),
            class,
        }
    }

    /// The same with other options.
    pub fn with_options(&self, options: CallOptions, class: u32) -> Self {
        Self { options: Arc::new(options), class, ..self.clone() }
    }

    fn fits(&self, submission: &Submission) -> bool {
        self.function == submission.function
            && self.priority == submission.priority
            && self.retries == submission.retries
            && self.tenant == submission.tenant.unwrap_or_default()
            && self.pinned == submission.worker
            && self.near == submission.near
            && is_same(&self.options, &submission.options)
    }
}

fn is_same(one: &Arc<CallOptions>, other: &Arc<CallOptions>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// Those that were used last.
#[derive(Default)]
pub(in crate::manager) struct Templates {
    recent: Vec<Arc<Template>>,
    /// Replaced next.
    oldest: usize,
}

impl Templates {
    /// That of a submission, if one like it came lately.
    pub fn find(&self, submission: &Submission) -> Option<Arc<Template>> {
        self.recent.iter().find(|template| template.fits(submission)).cloned()
    }

    /// The one in memory that equals this one, which is it unless one came lately.
    pub fn share(&mut self, template: Template) -> Arc<Template> {
        if let Some(known) = self.recent.iter().find(|known| ***known == template) {
            return Arc::clone(known);
        }
        let template = Arc::new(template);
        if self.recent.len() < MAX_RECENT {
            self.recent.push(Arc::clone(&template));
        } else {
            self.recent[self.oldest] = Arc::clone(&template);
            self.oldest = (self.oldest + 1) % MAX_RECENT;
        }
        template
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Payload;

    #[test]
    fn calls_that_are_submitted_alike_share_one() {
        let mut templates = Templates::default();
        let call = |function, priority| {
            let call = Submission::new(FunctionId(function), Payload::default());
            Submission { priority, ..call }
        };
        let first = templates.share(Template::new(&call(1, 0), 0));
        // Options that came by another message are other ones in memory.
        let found = templates.find(&call(1, 0)).expect("it was used lately");
        assert!(Arc::ptr_eq(&first, &found));
        assert_eq!((templates.find(&call(1, 1)), templates.find(&call(2, 0))), (None, None));
        for function in 0..MAX_RECENT as u32 {
            templates.share(Template::new(&call(10 + function, 0), 0));
        }
        assert_eq!(templates.find(&call(1, 0)), None);
    }
}
