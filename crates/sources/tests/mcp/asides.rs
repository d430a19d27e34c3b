//! What happens beside a call: questions for a person, and signs of progress.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolscript_catalog::{
    Answer, CallContext, CallError, Form, FunctionId, Level, Observer, Person, Question, Sign,
    Source as _, Unreachable,
};
use toolscript_testkit::mcp::{Era, Plan};

use crate::{Tested, call, fake, ready};

/// Somebody who gives the same answer to every question.
struct Says(Result<Answer, Unreachable>);

#[async_trait]
impl Person for Says {
    async fn ask(&self, question: Question) -> Result<Answer, Unreachable> {
        assert_eq!(question.source.as_str(), "fake");
        assert_eq!(question.message, "What is your name?");
        let Form::Fields(schema) = question.form else {
            panic!("a form was asked for");
        };
        assert_eq!(schema["properties"]["name"]["type"], "string");
        self.0.clone()
    }
}

fn asked_of(person: impl Person + 'static) -> CallContext {
    CallContext {
        person: Some(Arc::new(person)),
        ..CallContext::default()
    }
}

async fn in_era(era: Era) -> Tested {
    let plan = Plan {
        era,
        ..Plan::default()
    };
    ready(fake(&plan)).await
}

async fn ask(tested: &Tested, cx: &CallContext) -> Result<Value, CallError> {
    let reply = tested.server.call(cx, call("ask", json!({}))).await?;
    Ok(serde_json::from_str(reply.value.as_str().unwrap()).unwrap())
}

#[tokio::test]
async fn a_question_goes_to_the_person_behind_the_call() {
    for era in [Era::Handshake, Era::Stateless] {
        let tested = in_era(era).await;
        let name = json!({"name": "Ann"}).as_object().unwrap().clone();
        let cx = asked_of(Says(Ok(Answer::Accepted(name))));
        let said = ask(&tested, &cx).await.unwrap();
        let wanted = json!({"action": "accept", "content": {"name": "Ann"}});
        assert_eq!(said, wanted, "{era:?}");
        let said = ask(&tested, &asked_of(Says(Ok(Answer::Declined)))).await;
        assert_eq!(said.unwrap()["action"], "decline", "{era:?}");
        let nobody = ask(&tested, &asked_of(Says(Err(Unreachable::NoWay)))).await;
        let error = nobody.unwrap_err().to_string();
        assert!(error.contains("cannot ask its user"), "{era:?}: {error}");
    }
}

/// Somebody who says when the question has come and never answers.
struct Ponders(Arc<Notify>);

#[async_trait]
impl Person for Ponders {
    async fn ask(&self, _: Question) -> Result<Answer, Unreachable> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_old_server_cannot_ask_when_several_might_be_meant() {
    let tested = in_era(Era::Handshake).await;
    let heard = Arc::new(Notify::new());
    let ponders = asked_of(Ponders(heard.clone()));
    let first = ask(&tested, &ponders);
    let second = async {
        heard.notified().await;
        ask(&tested, &asked_of(Says(Ok(Answer::Declined)))).await
    };
    let answer = tokio::select! {
        answer = second => answer,
        _ = first => panic!("nobody answers the first"),
    };
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("for which of several calls"), "{error}");
    // The first is gone, and with it the doubt.
    let said = ask(&tested, &asked_of(Says(Ok(Answer::Cancelled)))).await;
    assert_eq!(said.unwrap()["action"], "cancel");
}

#[derive(Default)]
struct Hears(Mutex<Vec<(String, Sign)>>);

impl Observer for Hears {
    fn progress(&self, function: &FunctionId, sign: &Sign) {
        let heard = (function.to_string(), sign.clone());
        self.0.lock().unwrap().push(heard);
    }

    fn log(&self, _: &FunctionId, _: Level, _: &str) {}
}

#[tokio::test]
async fn progress_is_passed_on() {
    for era in [Era::Handshake, Era::Stateless] {
        let tested = in_era(era).await;
        let listener = Arc::new(Hears::default());
        let cx = CallContext {
            observer: Some(listener.clone()),
            ..CallContext::default()
        };
        let work = call("slow", json!({"steps": 3, "every_ms": 10}));
        tested.server.call(&cx, work).await.unwrap();
        let heard = listener.0.lock().unwrap().clone();
        let done: Vec<f64> = heard.iter().map(|(_, sign)| sign.done).collect();
        assert_eq!(heard[0].0, "fake.slow", "{era:?}");
        assert_eq!(heard[0].1.total, Some(3.0), "{era:?}");
        assert!(done.is_sorted() && !done.is_empty(), "{era:?}: {done:?}");
    }
}
